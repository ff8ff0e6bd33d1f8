"""
Save a model and serve it with a small HTTP service
===================================================

A model is saved to a file that contains no code, loaded elsewhere, and queried over HTTP. The server from the
standard library is started in a thread, queried and stopped, which is enough to show the messages.
"""

import json
import tempfile
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, load, save
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# Train, save and load a model. A file that was changed by accident, here by a single bit, is refused.

X, Y = digit_scenes(2000, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "digits.clems"
    save(CLEMS("f1", n_trees=50, random_state=0).fit(X[:1500], Y[:1500]), file)
    model = load(file)
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    try:
        load(file)
    except ValueError as error:
        print(str(error).replace(folder, "…"))

# %%
# The service takes rows as JSON. It returns label sets, their expected cost, and a mark on rows that a person
# should look at. For bad input, it returns the model's error message.


class Service(BaseHTTPRequestHandler):
    """POST {"rows": [[...], ...]} to get the labels of rows."""

    def do_POST(self):
        try:
            rows = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["rows"], float)
            labels, expected = model.predict(rows), model.expected_cost(rows)
            status, answer = (
                200,
                [
                    {"labels": model.classes_[row == 1].tolist(), "expected_cost": cost, "ask_a_person": cost > 0.45}
                    for row, cost in zip(labels, expected.tolist(), strict=True)
                ],
            )
        except (ValueError, KeyError, TypeError) as error:
            status, answer = 400, {"error": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Stay silent."""


# %%
# Start the service on a free port of this computer, query it, send an invalid request, and stop it.


def ask(server, rows):
    """Post rows and return the answer."""
    connection = HTTPConnection(*server.server_address)
    connection.request("POST", "/", json.dumps({"rows": rows}))
    answer = json.load(connection.getresponse())
    connection.close()
    return answer


rows = X[1500:1506]
with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
    threading.Thread(target=server.serve_forever).start()
    try:
        answers, refused = ask(server, rows.tolist()), ask(server, [[1, 2, 3]])
    finally:
        server.shutdown()
print(answers[0])
print(refused)

# %%
# The pictures that were sent, and what came back: rows for a person have an orange frame. The truth is below each
# picture.

figure, axes = plt.subplots(1, len(rows), figsize=(9, 2.4))
for axis, row, truth, answer in zip(axes, rows, Y[1500:1506], answers, strict=True):
    axis.imshow(row.reshape(11, 11), cmap="gray_r")
    said = " ".join(map(str, answer["labels"])) or "none"
    axis.set_title(f"{said}\ncost {answer['expected_cost']:.2f}", loc="center", size=10)
    axis.set(xticks=[], yticks=[], xlabel="truth " + " ".join(map(str, np.flatnonzero(truth))))
    axis.spines[:].set_visible(True)
    axis.spines[:].set_color("C1" if answer["ask_a_person"] else "C7")
    axis.spines[:].set_linewidth(3 if answer["ask_a_person"] else 1)
plt.show()
