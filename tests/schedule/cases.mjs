// tests/schedule/cases.mjs - writes cases (schedule, zone, instant) with the answers of the npm package croner.
//
//     node cases.mjs COUNT [SEED] > cases.txt
//
// A line is SCHEDULE|ZONE|AFTER|FIRES: AFTER in seconds since 1970, FIRES as differences, each to
// the one before, or "-" if croner finds none. The same count and seed give the same lines.
//
// All lies before 2026: governments change what comes, and the machine that tests may know more or less of that than
// the one that wrote the cases. What zones do later is compared with the C library of the same machine (glibc_test.c).
import { Cron } from "croner";

const FIRES = 3;
const BEGIN = Date.UTC(2000) / 1000;
const END = Date.UTC(2026) / 1000;
const ZONES = [
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Athens", "Africa/Casablanca", "Africa/Cairo",
    "Asia/Beirut", "Asia/Jerusalem", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Sydney",
    "Australia/Lord_Howe", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia", "Pacific/Honolulu",
    "America/New_York", "America/Los_Angeles", "America/St_Johns", "America/Sao_Paulo", "America/Santiago",
    "America/Asuncion", "America/Havana", "Antarctica/Troll", "Atlantic/Azores",
];
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

// A small generator of its own: Math.random() cannot be seeded.
function randomFrom(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
}

const count = Number(process.argv[2] ?? 1000);
const random = randomFrom(Number(process.argv[3] ?? 1));
const below = (limit) => Math.floor(random() * limit);
const between = (min, max) => min + below(max - min + 1);
const pick = (list) => list[below(list.length)];
const chance = (share) => random() < share;

function range(min, max) {
    const from = between(min, max);
    return [from, between(from, max)];
}

// A number, a range, a list, each now and then with a step.
function plain(min, max, name = String) {
    const form = below(10);
    if (form < 5) return name(between(min, max));
    if (form < 7) {
        const [from, to] = range(min, max);
        const step = chance(0.5) ? "/" + between(1, max - min) : "";
        return `${name(from)}-${name(to)}${step}`;
    }
    return Array.from({ length: between(2, 4) }, () => name(between(min, max))).join(",");
}

function timeField(max, share) {
    if (!chance(share)) return plain(0, max);
    return chance(0.6) ? "*" : "*/" + between(1, max);
}

function dayOfMonth() {
    const form = below(12);
    if (form < 6) return "*";
    if (form < 7) return "?";
    if (form < 9) return plain(1, 31);
    return pick(["L", "LW", between(1, 31) + "W", "1,15", "*/" + between(2, 15)]);
}

function dayOfWeek() {
    const form = below(12);
    if (form < 6) return "*";
    if (form < 7) return "?";
    if (form < 9) return plain(0, 7);
    if (form < 10) return plain(1, 6, (day) => DAYS[day]);
    return pick([below(7) + "L", pick(DAYS) + "#" + between(1, 5), "SAT-SUN", "MON-FRI", "5-7"]);
}

function month() {
    if (chance(0.7)) return "*";
    return chance(0.5) ? plain(1, 12) : plain(1, 12, (number) => MONTHS[number - 1]);
}

function expression() {
    const minute = timeField(59, 0.3);
    const hour = timeField(23, 0.4);
    const rest = `${minute} ${hour} ${dayOfMonth()} ${month()} ${dayOfWeek()}`;
    if (chance(0.02)) return pick(["@yearly", "@monthly", "@weekly", "@daily", "@hourly"]);
    if (chance(0.3)) return rest;
    return `${chance(0.7) ? "0" : timeField(59, 0.4)} ${rest}`;
}

// Minutes east of UTC, as the engine's own time zone data says.
const clocks = new Map();
function offset(zone, seconds) {
    if (!clocks.has(zone))
        clocks.set(zone, new Intl.DateTimeFormat("en-US", {
            timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
            hour: "numeric", minute: "numeric", second: "numeric",
        }));
    const parts = {};
    for (const { type, value } of clocks.get(zone).formatToParts(seconds * 1000)) parts[type] = Number(value);
    return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) / 1000 - seconds;
}

// The changes of the zone's clock in these years.
const known = new Map();
function changes(zone) {
    if (known.has(zone)) return known.get(zone);
    const found = [];
    const step = 10 * 86400;
    for (let low = BEGIN; low < END; low += step) {
        let [from, to] = [low, low + step];
        if (offset(zone, from) === offset(zone, to)) continue;
        while (to - from > 1) {
            const middle = Math.floor((from + to) / 2);
            if (offset(zone, middle) === offset(zone, from)) from = middle;
            else to = middle;
        }
        found.push(to);
    }
    known.set(zone, found);
    return found;
}

function instant(zone) {
    if (changes(zone).length > 0 && chance(0.6)) return pick(changes(zone)) - between(0, chance(0.5) ? 7200 : 172800);
    return between(BEGIN, END);
}

function answers(cron, after) {
    const fires = [];
    let last = after;
    while (fires.length < FIRES) {
        const next = cron.nextRun(new Date(last * 1000));
        if (!next) break;
        if (next.getTime() / 1000 >= END) return null;
        fires.push(next.getTime() / 1000 - last);
        last = next.getTime() / 1000;
    }
    return fires.length > 0 ? fires.join(",") : "-";
}

process.stdout.write(`# croner 11.0.0, time zone data ${process.versions.tz}; made by tests/schedule/cases.mjs\n`);
for (let made = 0; made < count; ) {
    const text = expression();
    const zone = pick(ZONES);
    const after = instant(zone);
    let cron;
    try {
        cron = new Cron(text, { timezone: zone });
    } catch {
        continue; // croner does not take it: unit tests do
    }
    const fires = answers(cron, after);
    if (fires === null) continue;
    process.stdout.write(`${text}|${zone}|${after}|${fires}\n`);
    made++;
}
