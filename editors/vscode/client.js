'use strict';
// A language client without dependencies: messages of the Language Server
// Protocol on the pipes of a process. Knows nothing of Visual Studio Code.
const { spawn } = require('child_process');

class Client {
  // notified(method, params) is called for what the server tells by itself,
  // ended(text) when it is gone without having been stopped.
  constructor(command, args, notified, ended) {
    this.waiting = new Map();
    this.id = 0;
    this.input = Buffer.alloc(0);
    this.errors = '';
    this.notified = notified;
    this.ended = ended;
    this.stopped = false;
    this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.process.on('error', (why) => this.end(String(why.message || why)));
    this.process.on('exit', (code) => this.end(this.errors || `status ${code}`));
    this.process.stdin.on('error', () => {});
    this.process.stderr.on('data', (d) => { this.errors = (this.errors + d).slice(-2000); });
    this.process.stdout.on('data', (d) => this.take(d));
  }

  end(text) {
    if (this.gone) return;
    this.gone = true;
    for (const { reject } of this.waiting.values()) reject(new Error(text));
    this.waiting.clear();
    if (!this.stopped) this.ended(text);
  }

  take(data) {
    this.input = Buffer.concat([this.input, data]);
    for (;;) {
      const end = this.input.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /content-length: *(\d+)/i.exec(this.input.toString('ascii', 0, end));
      const first = end + 4;
      const last = first + Number(length ? length[1] : 0);
      if (this.input.length < last) return;
      const message = JSON.parse(this.input.toString('utf8', first, last));
      this.input = this.input.subarray(last);
      this.handle(message);
    }
  }

  handle(message) {
    if (message.method) {
      this.notified(message.method, message.params);
      return;
    }
    const asked = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!asked) return;
    if (message.error) asked.reject(new Error(message.error.message));
    else asked.resolve(message.result);
  }

  send(message) {
    if (this.gone) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }), 'utf8');
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  request(method, params) {
    if (this.gone) return Promise.reject(new Error('the server is gone'));
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  async stop() {
    this.stopped = true;
    try {
      await this.request('shutdown', null);
    } catch (why) { /* it is gone already */ }
    this.notify('exit', null);
  }
}

module.exports = { Client };
