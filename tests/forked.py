"""Commands as processes that need not import anything: they are forked from one that has imported everything."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

# The first process reads what is wanted and forks; the second is the command, and ends as an interpreter ends.
FORKING = """
import io, json, os, signal, socket, sys
import rich.progress, rich.table, skops.io  # which take longest
import clems.cli.app, clems.datasets.new_rows, clems.evaluation.evaluate, clems.experiments.running
from clems.__main__ import main

requests = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, streams, *_ = socket.recv_fds(requests, 1 << 16, 3)
    if not message:
        sys.exit()
    wanted = json.loads(message)
    if "end_of" in wanted:
        requests.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(wanted["end_of"], 0)[1]))
        continue
    child = os.fork()
    if not child:
        break
    for stream in streams:
        os.close(stream)
    requests.send(b"%d" % child)

requests.close()
os.chdir(wanted["cwd"])
os.environ.update(wanted["environment"])
if wanted["session"]:
    os.setsid()
for number in (signal.SIGINT, signal.SIGHUP):  # nohup and shells ignore some in what runs in the background
    signal.signal(number, signal.SIG_IGN if number in wanted["ignored"] else signal.SIG_DFL)
for number, name in enumerate(("stdin", "stdout", "stderr")):
    if name in wanted["closed"]:  # which Python finds when it starts
        os.close(number)
        setattr(sys, name, None)
    else:
        os.dup2(stream := streams.pop(0), number)
        os.close(stream)
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))
if wanted["unbuffered"]:  # as PYTHONUNBUFFERED makes it
    sys.stdout = io.TextIOWrapper(open(1, "wb", 0, closefd=False), "utf-8", write_through=True)
if signal.SIGINT not in wanted["ignored"]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["clems", *wanted["arguments"]]
main()
"""
NAMES = ("stdin", "stdout", "stderr")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # a process with threads should not fork


class Forks:
    """Start commands by forks of a process that is ready."""

    def __init__(self):
        self.requests, theirs = socket.socketpair()
        self.requests.settimeout(300)
        with theirs:
            self.first = subprocess.Popen(
                [sys.executable, "-P", "-c", FORKING, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONSAFEPATH": "1"},
            )

    def end(self):
        self.requests.close()
        assert self.first.wait() == 0

    def ask(self, streams=(), **wanted):
        socket.send_fds(self.requests, [json.dumps(wanted).encode()], streams)
        return int(self.requests.recv(100))

    def start(self, *arguments, cwd, stdin=None, stdout=None, stderr=None, **wanted):
        """Start a command in a folder.

        Streams that are not given are an empty input, and outputs that are kept. Others may be wanted `closed`, or
        `unbuffered`, and signals `ignored`; or the command has a `session` of its own, or an `environment` that is
        added to that of the tests.
        """
        wanted = {"closed": (), "unbuffered": False, "ignored": (), "session": False, "environment": {}} | wanted
        return Started(self, (stdin, stdout, stderr), {"arguments": [*map(str, arguments)], "cwd": str(cwd)} | wanted)

    def run(self, *arguments, text=False, **options):
        """Run a command to its end; what it printed is bytes, or text."""
        command = self.start(*arguments, **options)
        command.wait()
        if text:
            command.stdout, command.stderr = command.stdout.decode(), command.stderr.decode()
        return command


class Started:
    """A command: number of its process, standard output and error, and the exit code once it has ended."""

    def __init__(self, forks, given, wanted):
        self.forks = forks
        self.files = [tempfile.TemporaryFile() for _ in given]  # noqa: SIM115 - closed at its end
        opened = [one or file for one, file in zip(given, self.files, strict=True)]
        streams = [one.fileno() for one, name in zip(opened, NAMES, strict=True) if name not in wanted["closed"]]
        self.pid = forks.ask(streams, **wanted)

    def wait(self):
        self.returncode = self.forks.ask(end_of=self.pid)
        for file in self.files:
            file.seek(0)
        _, self.stdout, self.stderr = (file.read() for file in self.files)
        for file in self.files:
            file.close()
        return self.returncode

    def lives(self):
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
