"""A client of a language server: messages on the pipes of a process."""
import json
import os
import subprocess
import urllib.parse


class Client:
    """The server that `command` starts, initialized with `capabilities`."""

    def __init__(self, command, capabilities=None, initialize=True):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.id = 0
        self.version = 0
        self.notes = []
        if initialize:
            answer = self.request("initialize",
                                  {"processId": None, "rootUri": None,
                                   "capabilities": capabilities or {}})
            self.capabilities = answer["result"]["capabilities"]
            self.notify("initialized", {})

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        header = b""
        while not header.endswith(b"\r\n\r\n"):
            byte = self.process.stdout.read(1)
            if not byte:
                raise EOFError("the server is gone")
            header += byte
        length = int(header.split(b":")[1].split(b"\r")[0])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params):
        """The answer, an object with "result" or "error"."""
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method,
                   "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.id and "method" not in message:
                return message
            self.notes.append(message)

    def ask(self, method, uri, line=None, character=None, **more):
        params = {"textDocument": {"uri": uri}, **more}
        if line is not None:
            params["position"] = {"line": line, "character": character}
        return self.request("textDocument/" + method, params).get("result")

    def published(self, uri):
        """The diagnostics of a document that are published next."""
        while True:
            for i, note in enumerate(self.notes):
                if (note.get("method") == "textDocument/publishDiagnostics"
                        and note["params"]["uri"] == uri):
                    del self.notes[i]
                    return note["params"]["diagnostics"]
            self.notes.append(self.receive())

    def open(self, uri, text):
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": uri, "languageId": "rlf", "version": 1, "text": text}})

    def change(self, uri, text, start=None, end=None):
        change = {"text": text}
        if start:
            change["range"] = {
                "start": dict(zip(("line", "character"), start)),
                "end": dict(zip(("line", "character"), end))}
        self.version += 1
        self.notify("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": self.version},
            "contentChanges": [change]})

    def stop(self):
        """The exit status after a shutdown in order."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait()


def uri_of(path):
    return "file://" + urllib.parse.quote(os.path.abspath(path))
