"""Trees: grown, read, and the training rows in their leaves. The only place that touches scikit-learn's trees."""
