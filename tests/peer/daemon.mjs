// A `pawl serve` on a SQLite file of its own, and the services in Node that it sends to.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PAWL = process.env.PAWL_BIN ?? 'pawl';
const run = promisify(execFile);

// Nothing of the surroundings may set what the test has not set.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PAWL_')));

export class Daemon {
    constructor() {
        this.folder = mkdtempSync(join(tmpdir(), 'pawl-peer-'));
        this.log = '';
    }

    secret(name, text) {
        const path = join(this.folder, `${name}.secret`);
        writeFileSync(path, text);
        chmodSync(path, 0o600);
        return `file:${path}`;
    }

    async start(config) {
        writeFileSync(join(this.folder, 'pawl.ini'),
            `[database]\nurl = sqlite:app.db\n[server]\nlisten = 127.0.0.1:0\n[log]\nlevel = debug\n${config}`);
        this.process = spawn(PAWL, ['serve', '--config', 'pawl.ini', '--service-id', 'pawl'],
            { cwd: this.folder, env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
        this.ended = once(this.process, 'exit');
        this.process.stderr.setEncoding('utf8');
        for await (const piece of this.process.stderr.iterator({ destroyOnReturn: false })) {
            this.log += piece;
            if (this.log.includes('serve: ready'))
                break;
        }
        this.process.stderr.on('data', piece => { this.log += piece; });
        const listening = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(this.log);
        if (!listening)
            throw new Error(`pawl serve did not start: ${this.log}`);
        this.port = Number(listening[1]);
    }

    // The exit code, when it has ended by itself.
    async stop() {
        this.process?.kill('SIGTERM');
        const [code] = await this.ended;
        rmSync(this.folder, { recursive: true });
        return code;
    }

    // What the program says of the same database.
    async json(...args) {
        const { stdout } = await run(PAWL, ['--db', 'sqlite:app.db', '--json', ...args],
            { cwd: this.folder, env: environment });
        return JSON.parse(stdout);
    }

    // The id of a message that goes to a service.
    async send(topic, payload, destination, ...more) {
        const sending = run(PAWL, ['--db', 'sqlite:app.db', '--json', 'send', topic, '-', '--destination', destination, ...more],
            { cwd: this.folder, env: environment });
        sending.child.stdin.end(payload);
        return JSON.parse((await sending).stdout).work_id;
    }

    post(body, path = '/_rf/receive') {
        return post({ host: '127.0.0.1', port: this.port, path }, body);
    }

    // Ask until a message is in this state.
    async until(id, state) {
        for (let tries = 0; tries < 2000; tries++) {
            const shown = await this.json('show', id);
            if (shown.state === state)
                return shown;
        }
        throw new Error(`${id} did not become ${state}: ${this.log}`);
    }
}

function post(where, body) {
    return new Promise((resolve, reject) => {
        const asked = request({ ...where, method: 'POST', headers: { 'Content-Type': 'application/json' } });
        asked.on('error', reject);
        asked.on('response', async answer => {
            const pieces = [];
            for await (const piece of answer)
                pieces.push(piece);
            resolve({ status: answer.statusCode, text: Buffer.concat(pieces).toString() });
        });
        asked.end(body);
    });
}

// A service that keeps what it was sent, and answers what `answer(body, attempt)` says: {status, text}.
export class Service {
    constructor() {
        this.server = createServer(async (incoming, outgoing) => {
            const pieces = [];
            for await (const piece of incoming)
                pieces.push(piece);
            const { status, text, headers = {} } = this.answer(Buffer.concat(pieces), incoming);
            outgoing.writeHead(status, { 'Content-Type': 'application/json', ...headers });
            outgoing.end(text);
        });
        this.answer = () => ({ status: 503, text: '' });
    }

    async listen(...where) {
        this.server.listen(...where);
        await once(this.server, 'listening');
        return this.server.address();
    }

    close() {
        this.server.close();
        this.server.closeAllConnections();
    }
}
