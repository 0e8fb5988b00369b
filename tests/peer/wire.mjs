// The wire in JavaScript, written from docs/wire.md alone: envelopes, signatures, acknowledgements.

import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

export const REPLAY_WINDOW_MS = 5 * 60 * 1000;

// The members of a JSON object, each value as the text that stands there: JSON.parse would lose it,
// and what is signed are the payload's own bytes. JSON.parse has accepted the text before.
export function members(text) {
    JSON.parse(text);
    const found = new Map();
    const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;
    let depth = 0, name = null, begin = -1, end = -1, last = null;
    for (let at; (at = token.exec(text)) !== null; last = at[0]) {
        const [word] = at;
        if (depth === 1 && (word === ',' || word === '}') && name !== null) {
            if (found.has(name))
                throw new Error(`${name} comes twice`);
            found.set(name, text.slice(begin, end));
            name = null;
        } else if (depth === 1 && name === null && word === ':') {
            name = JSON.parse(last);
            begin = -1;
        } else if (begin < 0) {
            begin = at.index;
        }
        if (word === '{' || word === '[')
            depth++;
        if (word === '}' || word === ']')
            depth--;
        end = token.lastIndex;
    }
    return found;
}

// JSON travels as it stands; anything else as base64.
function embed(payload) {
    if (typeof payload === 'string')
        return { text: payload, bytes: Buffer.from(payload), encoding: {} };
    return { text: JSON.stringify(payload.toString('base64')), bytes: payload,
        encoding: { 'rf-payload-encoding': 'base64' } };
}

function unpack(text, isBase64) {
    return isBase64 ? Buffer.from(JSON.parse(text), 'base64') : Buffer.from(text);
}

export function sign(envelope, payload, secret, scheme) {
    const hash = createHash('sha256').update(payload).digest('hex');
    const { messageId, sourceServiceId, messageType, endpoint, correlationId, headers } = envelope;
    const signed = scheme === 1
        ? messageId + sourceServiceId + endpoint + hash
        : ['rf-hmac-2', headers['rf-version'], headers['rf-timestamp'], messageId, sourceServiceId, messageType,
            endpoint, correlationId ?? '', hash].map(field => `${Buffer.byteLength(field)}:${field},`).join('');
    return createHmac('sha256', secret).update(signed).digest('base64');
}

// An envelope as text. `payload`: a string is JSON, a Buffer is bytes.
export function seal({ payload, secret, scheme = 2, headers = {}, ...fields }) {
    const { text, bytes, encoding } = embed(payload);
    const envelope = {
        messageId: randomUUID(), correlationId: null, messageType: 'Command', ...fields,
        headers: { 'rf-version': '2.0', 'rf-timestamp': new Date().toISOString(), 'rf-attempt': '1', ...encoding,
            ...headers },
    };
    envelope.headers['rf-hmac'] ??= sign(envelope, bytes, secret, scheme);
    return `${JSON.stringify(envelope).slice(0, -1)},"payload":${text}}`;
}

// What a receiver does first. Throws if the envelope is not from somebody who has the secret.
export function open(body, secret, scheme = 2) {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const envelope = JSON.parse(text);
    const { headers } = envelope;
    const isBase64 = headers['rf-payload-encoding'] === 'base64';
    const payload = unpack(members(text).get('payload'), isBase64);
    const expected = Buffer.from(sign(envelope, payload, secret, scheme));
    const given = Buffer.from(headers['rf-hmac'] ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
        throw new Error('wrong signature');
    if (scheme === 2 && !(Math.abs(Date.parse(headers['rf-timestamp']) - Date.now()) <= REPLAY_WINDOW_MS))
        throw new Error('old signature');
    return { ...envelope, payload, isBase64 };
}

export function acknowledge(payload = 'null') {
    const { text, encoding } = embed(payload);
    return `{"acknowledged":true,"duplicateDetected":false,"payload":${text},"error":null`
        + `${encoding['rf-payload-encoding'] ? ',"payloadEncoding":"base64"' : ''}}`;
}

// An acknowledgement, its payload as bytes (null: none).
export function readAcknowledgement(text) {
    const document = JSON.parse(text);
    const raw = members(text).get('payload');
    return { ...document, payload: raw === 'null' ? null : unpack(raw, document.payloadEncoding === 'base64') };
}
