"""From a posterior and a cost to labels."""
