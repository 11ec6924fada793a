// Numbers, times and names as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const NOTHING = "–";
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];
const NAME_LIMIT = 120;

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function count(value) {
  if (!isNumber(value)) return NOTHING;
  return Math.abs(value) < 100000 ? whole.format(value) : short.format(value);
}

export const exact = (value) => (isNumber(value) ? whole.format(value) : NOTHING);

export function rate(value) {
  if (!isNumber(value)) return NOTHING;
  if (value === 0) return "0/s";
  return `${Math.abs(value) < 100 ? small.format(value) : short.format(value)}/s`;
}

export function bytes(value) {
  if (!isNumber(value)) return NOTHING;
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= 1000 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${small.format(rest)} ${UNITS[unit]}`;
}

export const byteRate = (value) => (isNumber(value) ? `${bytes(value)}/s` : NOTHING);

// Two units at most: nobody needs the seconds of days.
export function duration(seconds) {
  if (!isNumber(seconds)) return NOTHING;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 1) return seconds === 0 ? "0 s" : "under 1 s";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return pair(seconds, 60, "min", 1, "s", 600);
  if (seconds < 86400) return pair(seconds, 3600, "h", 60, "min", 36000);
  return pair(seconds, 86400, "d", 3600, "h", 864000);
}

function pair(seconds, large, largeName, little, littleName, onlyLargeFrom) {
  const first = Math.floor(seconds / large);
  const second = Math.floor((seconds % large) / little);
  return second === 0 || seconds >= onlyLargeFrom ? `${first} ${largeName}` : `${first} ${largeName} ${second} ${littleName}`;
}

export const secondsSince = (time) => (Date.now() - Date.parse(time)) / 1000;

// What was never done was done in 1970, by some clocks.
export const ago = (time) => (time && Date.parse(time) > 0 ? `${duration(Math.max(0, secondsSince(time)))} ago` : "never");

export const clock = (time) => (time ? new Date(time).toLocaleString("en-GB", { hour12: false }) : NOTHING);

// Characters that move others, hide, or drive terminals become visible: names and errors are written by strangers.
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (character) => `\\u{${character.codePointAt(0).toString(16)}}`,
  );
}

// The end of a path tells more than its middle.
export function shorten(text, limit = NAME_LIMIT) {
  if (text.length <= limit) return text;
  const half = Math.floor((limit - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

export const words = (name) => String(name).replaceAll("_", " ");

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
