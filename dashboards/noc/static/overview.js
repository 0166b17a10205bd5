// The cluster at a glance: jobs and their pace, GPU time, traffic, targets. On a quiet wall this says what is healthy.
import { byId, setLines } from "./dom.js";
import { percent, quantity } from "./quantities.js";
import { ask, time } from "./wire.js";
import { clock, count, lasted } from "./words.js";

const LINES = 4; // of a card, so that the wall does not scroll
const STATES = {
  stalled: ["✖ stalled", "bad"],
  slowed: ["▼ slowed", "bad"],
  idle: ["■ idle", "partial"],
  slow: ["▼ slow", "partial"],
  unknown: ["? too few of its GPUs report", "partial"],
  learning: ["… usual pace not known yet", ""],
  normal: ["✓ as usual", "good"],
};

/** Asks for it and draws it. Resolves with the answer, null without one. */
export async function refreshOverview() {
  const seen = await ask("overview");
  if (seen === null || seen.at === null) return seen;
  byId("overview").hidden = false;
  setLines(byId("pace"), pace(seen));
  setLines(byId("gpu-time"), gpuTime(seen.gpu_hours));
  setLines(byId("traffic"), seen.traffic.length ? seen.traffic.slice(0, LINES).map(tier) : ["no link is known"]);
  setLines(byId("silent"), targets(seen));
  return seen;
}

function pace({ jobs, jobs_running }) {
  if (jobs_running === 0) return ["no job runs"];
  const shown = jobs.slice(0, jobs_running > LINES ? LINES - 1 : LINES);
  const more = jobs_running - shown.length;
  const steady = jobs.slice(shown.length).every((job) => job.state === "normal") && jobs.length === jobs_running;
  return [...shown.map(jobLine), ...(more ? [`${count(more, "more job")}${steady ? ", all as usual" : ""}`] : [])];
}

function jobLine(job) {
  const [words, mood] = STATES[job.state] ?? [job.state, ""];
  return [
    named(`${job.name || "job"} ${job.job_id}`),
    ["b", steps(job)],
    ["span", words, mood],
    ["span", count(job.gpus, "GPU"), "small last"],
    ...busy(job).map((text) => ["span", text, "small"]),
  ];
}

const STANDS_BELOW = 0.01; // of what is usual: the rest is noise, and its ratio no number for people

const busy = ({ work, usual }) => (work === null || usual === null || work < STANDS_BELOW * usual ? [] : [`busy ${percent(work)} of ${percent(usual)}`]);

/** A name may be longer than the card is wide: the whole of it is where somebody points. */
const named = (name) => ["span", name, "name", { title: name }];

/** Work is what the GPUs do of what they could. A step of the same work takes as much longer as there is less of it. */
function steps({ work, usual }) {
  if (work === null) return "work unknown";
  if (usual === null) return `work ${percent(work)}`;
  if (work < STANDS_BELOW * usual) return "0 %";
  const share = `${Math.round((100 * work) / usual)} %`;
  return usual / work >= 1.05 ? `${share}, steps ×${(usual / work).toFixed(usual / work < 10 ? 1 : 0)}` : share;
}

function gpuTime({ since, watched, lost }) {
  const causes = Object.entries(lost).sort(([, one], [, other]) => other - one);
  const sum = causes.reduce((total, [, hours]) => total + hours, 0);
  const share = watched > 0 ? ` (${percent(sum / watched)})` : "";
  return [
    [["b", hours(watched)], ["span", `watched since ${clock(Date.parse(since)).slice(0, 5)}`, "small"]],
    [["b", `${hours(sum)}${share}`], ["span", "lost", "small"]],
    ...causes.slice(0, LINES - 2).map(([cause, of]) => [["span", hours(of)], ["span", `to ${cause.replaceAll("_", " ")}`, "small"]]),
  ];
}

const hours = (value) => value.toFixed(value < 100 ? 2 : 0);

function tier({ tier, links, measured, used_bits_per_second: used, rated_bits_per_second: rated }) {
  const name = ["span", tier];
  if (!measured) return [name, ["span", `${count(links, "link")}, no traffic known`, "small"]];
  const part = measured < links ? `${measured} of ${links} links` : count(links, "link");
  return [
    name,
    ["meter", "", "", { min: 0, max: 1, value: used / rated }],
    ["b", percent(used / rated)],
    ["span", `of ${quantity(rated, "bits/s")}`, "small last"],
    ["span", part, "small"],
  ];
}

function targets({ at, silent, silent_targets }) {
  if (silent_targets === 0) return [[["span", "✓ all answer", "good"]]];
  const shown = silent.slice(0, silent_targets > LINES - 1 ? LINES - 2 : LINES - 1);
  const more = silent_targets - shown.length;
  return [
    [["span", `✖ ${count(silent_targets, "target")} silent`, "bad"]],
    ...shown.map((one) => [named(one.target), ["span", gap(one, at), "small last"], ...reason(one)]),
    ...(more ? [`${more} more`] : []),
  ];
}

function gap(silent, at) {
  const since = time(silent.since);
  return `since ${clock(since)} (${lasted(Math.max(0, Date.parse(at) - since) / 1e3)})`;
}

const reason = (silent) => (silent.reason ? [["span", silent.reason.replaceAll("_", " "), "small"]] : []);
