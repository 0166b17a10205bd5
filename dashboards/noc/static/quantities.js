// Values as people read them; the same rules as telemetry/quantities.py, which a test compares.
const SYMBOLS = {
  hertz: "Hz", bytes: "B", "bytes/s": "B/s", bytes_per_second: "B/s", bits: "bit", "bits/s": "bit/s",
  bits_per_second: "bit/s", watts: "W", joules: "J", volts: "V", amperes: "A",
};
const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];
const WITHOUT_PREFIX = { celsius: "°C", kelvin: "K", dbm: "dBm", rpm: "rpm", none: "", state: "", severity: "" };
const SHARE_MIN = 1e-4; // below it a ratio is an error rate
const MINUTES_FROM_S = 600;

export function quantity(value, unit) {
  const [base, ...qualifier] = unit.split(" ");
  return `${ofUnit(value, base)} ${qualifier.join(" ")}`.trim();
}

/** A share for the wall: whole percents, of a small one a decimal. More digits make a small share look large. */
export function percent(ratio) {
  const value = 100 * ratio;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value < 9.95 ? Number(value.toFixed(1)) : Math.round(value)} %`;
}

function ofUnit(value, unit) {
  if (value === null || !Number.isFinite(value)) return "unknown";
  if (unit === "bool") return value ? "yes" : "no";
  if (unit === "XID") return `XID ${value}`;
  if (unit === "ratio") return value !== 0 && Math.abs(value) < SHARE_MIN ? number(value) : `${number(100 * value)} %`;
  if (unit === "seconds") return Math.abs(value) >= MINUTES_FROM_S ? `${number(value / 60)} min` : prefixed(value, "s", 1);
  if (Object.hasOwn(SYMBOLS, unit)) return prefixed(value, SYMBOLS[unit], Infinity);
  const noun = Object.hasOwn(WITHOUT_PREFIX, unit) ? WITHOUT_PREFIX[unit] : value === 1 ? unit.replace(/(?<=ss)es(?=\/|$)|s?(?=\/|$)/, "") : unit;
  return `${number(value)} ${noun}`.trim();
}

function prefixed(value, symbol, largest) {
  const size = Math.abs(Number(value.toPrecision(3)));
  const [factor, prefix] = PREFIXES.find(([least]) => least <= largest && size >= least) ?? [1, ""];
  return `${number(value / factor)} ${prefix}${symbol}`;
}

function number(value) {
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  if (size === 0) return "0";
  if (size < 1e-3 || size >= 1e9) return rounded.toExponential().replace("e+", "e");
  if (size >= 100) return (Math.abs(value) < 1e6 ? Math.round(value) : Math.round(rounded)).toLocaleString("en-US");
  return String(rounded);
}
