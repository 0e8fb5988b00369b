// A service in Node and a service with pawl send to each other, both directions, both schemes.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Daemon, Service } from './daemon.mjs';
import { acknowledge, open, readAcknowledgement, seal, sign } from './wire.mjs';

const SECRET = 'correct horse battery staple';
const OLD_SECRET = 'an old peer knows scheme 1 only';
const WRONG = 'this is a secret of somebody else';
// White space and numbers that JSON writers would change, text in several alphabets, escapes, bytes.
const PAYLOADS = {
    'an object': '{"orderId":17}',
    'spaces and numbers': '{ "a" : 1.0, "b":[1e2 ,\t-0.50, 12345678901234567890] }',
    'unicode': '{"name":"Žofie 👩‍🚀 日本語","\\u00e9\\ud83d\\ude00":"\\/\\"\\\\"}',
    'a string': '"//4="',
    'null': 'null',
    'bytes': Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x7b]),
    'no bytes': Buffer.alloc(0),
    'white space around': Buffer.from(' {} '),
};

const daemon = new Daemon();
const services = { node: new Service(), old: new Service(), wrong: new Service() };

before(async () => {
    const { port } = await services.node.listen(0, '127.0.0.1');
    const { port: wrongPort } = await services.wrong.listen(0, '127.0.0.1');
    const socket = join(daemon.folder, 'old.sock');
    await services.old.listen(socket);
    const fast = 'allow_private = on\nretry_base = 10ms\nretry_max = 20ms\nretry_jitter = 0s\n';
    await daemon.start(
        `[service node]\nurl = http://127.0.0.1:${port}\nsecret = ${daemon.secret('node', SECRET)}\n${fast}`
        + `[service old]\nurl = unix://${socket}\nsecret = ${daemon.secret('old', OLD_SECRET)}\nscheme = 1\n${fast}`
        + `[service wrong]\nurl = http://127.0.0.1:${wrongPort}\nsecret = ${daemon.secret('wrong', WRONG)}\n${fast}`
        + '[receive *]\ncommand = cat > last; echo x >> effects; cat last\n'
        + '[receive fails]\ncommand = exit 1\n');
});

after(async () => {
    for (const service of Object.values(services))
        service.close();
    assert.equal(await daemon.stop(), 0);
});

const effects = () => {
    try {
        return readFileSync(join(daemon.folder, 'effects')).length / 2;
    } catch {
        return 0;
    }
};
const message = more => ({ sourceServiceId: 'node', endpoint: 'echo', payload: '{}', secret: SECRET, ...more });
const bytesOf = payload => Buffer.from(payload);

// It is refused, and nothing of it is kept.
async function assertRefused(envelope, status = 401) {
    const before = [effects(), (await daemon.json('inbox', 'ls', '--limit', '1000')).length];
    const answer = await daemon.post(envelope);
    assert.equal(answer.status, status, `${envelope}: ${answer.text}`);
    assert.equal(JSON.parse(answer.text).acknowledged, false);
    assert.deepEqual([effects(), (await daemon.json('inbox', 'ls', '--limit', '1000')).length], before);
}

test('the values of the page', () => {
    const envelope = { messageId: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890', correlationId: 'order-17',
        sourceServiceId: 'inventory-service', messageType: 'Signal', endpoint: 'OrderApproved',
        headers: { 'rf-version': '2.0', 'rf-timestamp': '2026-02-14T12:00:00Z' } };
    assert.equal(sign(envelope, '{"orderId":17}', SECRET, 2), '4jnBYMMj1Eoj4aLzJuEQ1+rFB8gD6QacDS838td5p3o=');
    assert.equal(sign(envelope, '{"orderId":17}', SECRET, 1), '7tkEzyPOoR68TCTvfinVsGpg4FnqNoLNoodQat6Tlz0=');
    assert.equal(sign(envelope, Buffer.from([0xff, 0xfe]), SECRET, 2), 'dLh1zy96AFCrNigNhcZklX5zmrvkvlI/sFKmYYuM6ec=');
});

for (const [name, payload] of Object.entries(PAYLOADS)) {
    for (const [sourceServiceId, secret, scheme] of [['node', SECRET, 2], ['old', OLD_SECRET, 1], ['old', OLD_SECRET, 2]]) {
        test(`Node sends to pawl, ${sourceServiceId}, scheme ${scheme}: ${name}`, async () => {
            const soFar = effects();
            const answer = await daemon.post(seal(message({ sourceServiceId, secret, scheme, payload })));
            assert.equal(answer.status, 200, answer.text);
            const read = readAcknowledgement(answer.text);
            assert.deepEqual([read.acknowledged, read.duplicateDetected, read.error], [true, false, null]);
            assert.deepEqual(readFileSync(join(daemon.folder, 'last')), bytesOf(payload));
            if (name !== 'null' && name !== 'no bytes' && name !== 'white space around')
                assert.deepEqual(read.payload, bytesOf(payload));
            assert.equal(effects(), soFar + 1);
        });
    }
}

test('fields in other alphabets, escaped and not', async () => {
    const fields = message({ messageId: `č-${randomUUID()}-😀`, correlationId: 'objednávka "17" \\', endpoint: '注文/é' });
    const plain = seal(fields);
    assert.equal((await daemon.post(plain)).status, 200);
    const escaped = plain.replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const answer = await daemon.post(escaped);
    assert.equal(JSON.parse(answer.text).duplicateDetected, true, answer.text);
});

test('a duplicate, a replay, and the same message signed anew', async () => {
    const fields = message({ messageId: randomUUID(), payload: '[1, 2]' });
    const soFar = effects();
    const envelope = seal(fields);
    const first = readAcknowledgement((await daemon.post(envelope)).text);
    const again = seal({ ...fields, headers: { 'rf-attempt': '2' } });
    for (const replayed of [envelope, envelope, again]) {
        const answer = await daemon.post(replayed);
        const read = readAcknowledgement(answer.text);
        assert.deepEqual([answer.status, read.acknowledged, read.duplicateDetected], [200, true, true]);
        assert.deepEqual(read.payload, first.payload);
    }
    assert.equal(effects(), soFar + 1);
    await assertRefused(envelope.replace('[1, 2]', '[1, 3]'));
});

test('a wrong signature', async () => {
    const good = seal(message({}));
    const hmac = JSON.parse(good).headers['rf-hmac'];
    await assertRefused(seal(message({ secret: WRONG })));
    await assertRefused(seal(message({ scheme: 1 }))); // only where the map says so
    await assertRefused(seal(message({ sourceServiceId: 'stranger' })));
    await assertRefused(seal(message({ sourceServiceId: 'old' })));
    for (const other of ['', hmac.slice(0, -1), hmac.slice(0, 40), `${hmac}=`, ` ${hmac}`, hmac.toLowerCase(),
        Buffer.from(hmac, 'base64').toString('hex'), 'AAAA'.repeat(10) + 'AAA='])
        await assertRefused(good.replace(hmac, other));
    await assertRefused(good.replace('"rf-hmac"', '"x-hmac"'));
    for (const name of ['messageId', 'endpoint', 'correlationId', 'rf-timestamp', 'rf-version', 'messageType']) {
        const changed = { messageId: randomUUID(), endpoint: 'echo2', correlationId: 'c', messageType: 'Signal',
            'rf-timestamp': new Date(Date.now() + 1000).toISOString(), 'rf-version': '2.1' }[name];
        await assertRefused(good.replace(new RegExp(`"${name}":(null|"[^"]*")`), `"${name}":"${changed}"`));
    }
});

test('an old timestamp, one that is ahead, and none', async () => {
    const at = ms => new Date(Date.now() + ms).toISOString();
    for (const time of [at(-6 * 60_000), at(6 * 60_000), at(-24 * 3600_000), '1970-01-01T00:00:00Z'])
        await assertRefused(seal(message({ headers: { 'rf-timestamp': time } })));
    for (const time of ['', 'yesterday', '2026-02-30T12:00:00Z'])
        await assertRefused(seal(message({ headers: { 'rf-timestamp': time } })), 400);
    for (const time of [at(-4 * 60_000), at(4 * 60_000), at(3600_000).replace('Z', '+01:00'), at(0).replace('Z', '456789Z')]) {
        const answer = await daemon.post(seal(message({ headers: { 'rf-timestamp': time } })));
        assert.equal(answer.status, 200, `${time}: ${answer.text}`);
    }
    // Scheme 1 has no time in it: that is why it has to be asked for.
    const old = message({ sourceServiceId: 'old', secret: OLD_SECRET, scheme: 1,
        headers: { 'rf-timestamp': at(-24 * 3600_000) } });
    assert.equal((await daemon.post(seal(old))).status, 200);
});

test('a handler that fails is told to Node as what it is', async () => {
    const answer = await daemon.post(seal(message({ endpoint: 'fails' })));
    assert.equal(answer.status, 500);
    assert.deepEqual([JSON.parse(answer.text).acknowledged, JSON.parse(answer.text).duplicateDetected], [false, false]);
});

// pawl sends, the service answers by `answer`; the message's end and all that was heard.
async function pawlSends(name, payload, state, answer, more = []) {
    const heard = [];
    services[name].answer = (body, incoming) => {
        heard.push({ body, incoming });
        return answer(body, heard.length);
    };
    await daemon.until(await daemon.send('order', payload, name, ...more), state);
    return heard;
}

for (const [name, payload] of Object.entries(PAYLOADS)) {
    for (const [service, secret, scheme] of [['node', SECRET, 2], ['old', OLD_SECRET, 1]]) {
        test(`pawl sends to Node, ${service}, scheme ${scheme}: ${name}`, async () => {
            const heard = await pawlSends(service, payload, 'done',
                () => ({ status: 200, text: acknowledge(payload.length > 0 ? payload : 'null') }), ['--correlation', 'č-7']);
            assert.equal(heard.length, 1);
            const got = open(heard[0].body, secret, scheme);
            assert.deepEqual(got.payload, bytesOf(payload));
            assert.equal(got.isBase64, Buffer.isBuffer(payload));
            assert.deepEqual([got.sourceServiceId, got.endpoint, got.correlationId, got.headers['rf-version'],
                got.headers['rf-attempt']], ['pawl', 'order', 'č-7', '2.0', '1']);
            assert.deepEqual([heard[0].incoming.method, heard[0].incoming.url, heard[0].incoming.headers['content-type']],
                ['POST', '/_rf/receive', 'application/json']);
            assert.throws(() => open(heard[0].body, WRONG, scheme), /wrong signature/);
        });
    }
}

test('pawl tries again until Node acknowledges, always with the same id', async () => {
    const answers = [{ status: 500, text: '' }, { status: 200, text: '' }, { status: 200, text: 'OK' },
        { status: 302, text: '', headers: { Location: '/elsewhere' } }, { status: 429, text: '' },
        { status: 200, text: '{"acknowledged":false,"duplicateDetected":true}' }];
    const heard = await pawlSends('node', '{}', 'done', (body, attempt) => answers[attempt - 1], ['--max-attempts', '20']);
    const got = heard.map(({ body }) => open(body, SECRET));
    assert.equal(new Set(got.map(({ messageId }) => messageId)).size, 1);
    assert.deepEqual(got.map(({ headers }) => headers['rf-attempt']), ['1', '2', '3', '4', '5', '6']);
});

test('pawl gives up at once when Node refuses the signature', async () => {
    const heard = await pawlSends('wrong', '{}', 'failed', body => {
        try {
            open(body, SECRET);
            return { status: 200, text: acknowledge() };
        } catch {
            return { status: 401, text: '{"acknowledged":false,"error":"unauthorized"}' };
        }
    });
    assert.equal(heard.length, 1);
});
