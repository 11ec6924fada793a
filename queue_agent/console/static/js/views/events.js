// What has happened: losses, verdicts, trims, hand-overs, exports, acts; the newest first, older ones on scrolling.

import { get, offers, query, splitRef } from "../api.js";
import { ago, clock, shorten, visible, words } from "../format.js";
import { colorOfEvent, EVENTS, KINDS, since, timeOf } from "../happenings.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { ConsumerLink, Failure, QueueLink, useAnswer } from "../parts.js";
import { refine } from "../router.js";

const EVERY_MILLISECONDS = 5000;
const PAGE = 100;
const MOST = 2000;
const SPANS = { hour: 3600, day: 86400, week: 604800, "90 days": 7776000 };
const SIGNS = { red: "▲", amber: "◆", green: "✓", gray: "○" };

export function Events({ parameters }) {
  const { queue, consumer, kind = "", span = "day" } = parameters;
  const asked = { queue, consumer, kind };
  const key = query({ ...asked, span });
  const newest = useAnswer(
    async (signal) => ((await offers(EVENTS)) ? get(`${EVENTS}?${query({ ...asked, limit: PAGE, since: since(SPANS[span] || SPANS.day) })}`, signal) : { isMissing: true }), [key], EVERY_MILLISECONDS);
  const title = html`<h1 tabindex="-1">Events <${About} queue=${queue} consumer=${consumer} /></h1>`;
  if (newest.value?.isMissing) return html`${title}<p class="quiet">This agent keeps no events.</p>`;
  return html`${title}
    <${Filters} parameters=${parameters} kind=${kind} span=${span} />
    ${newest.error && html`<${Failure} error=${newest.error} />`}
    ${newest.value?.persisted === false && html`<p class="failure" role="alert">The table of events cannot be read. These are the last ones that this agent has noticed itself.</p>`}
    ${newest.value?.acts_read === false && html`<p class="failure" role="alert">The audit journal cannot be read, so acts of people are missing here.</p>`}
    ${newest.value && html`<${Timeline} key=${key} newest=${newest.value} asked=${asked} span=${span} />`}`;
}

function About({ queue, consumer }) {
  if (!queue && !consumer) return null;
  return html`<span class="quiet">of ${consumer && html`<${ConsumerLink} row=${splitRef(consumer)} />`}${consumer && queue && " in "}${queue && html`<${QueueLink} ...${splitRef(queue)} />`}</span>`;
}

function Filters({ parameters, kind, span }) {
  const field = (id, label) => html`<label>${label} <input id=${id} placeholder="cluster://path" value=${parameters[id] || ""}
    onChange=${(event) => refine({ [id]: normal(event.target.value) })} /></label>`;
  return html`<form class="filters" onSubmit=${(event) => event.preventDefault()}>
    <label>Kind <select id="kind" value=${kind} onChange=${(event) => refine({ kind: event.target.value })}>
      <option value="">all</option>${KINDS.map((one) => html`<option key=${one} value=${one}>${words(one)}</option>`)}</select></label>
    <label>Of the last <select id="span" value=${span} onChange=${(event) => refine({ span: event.target.value })}>
      ${Object.keys(SPANS).map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>
    ${field("queue", "Queue")} ${field("consumer", "Consumer")}
  </form>`;
}

const normal = (text) => text.trim();

function Timeline({ newest, asked, span }) {
  const [older, setOlder] = useState({ events: [], next: undefined });
  const [error, setError] = useState(null);
  const end = useRef(null);
  const isAsking = useRef(false);
  const seen = new Set();
  const events = [...newest.events, ...older.events].filter((one) => !seen.has(one.id) && seen.add(one.id));
  const next = older.next === undefined ? newest.next : older.next;
  const hasMore = next !== null && next !== undefined && events.length < MOST;
  const more = async () => {
    if (isAsking.current) return;
    isAsking.current = true;
    try {
      const page = await get(`${EVENTS}?${query({ ...asked, limit: PAGE, before: next, since: since(SPANS[span] || SPANS.day) })}`);
      setOlder((last) => ({ events: [...last.events, ...page.events], next: page.next }));
      setError(null);
    } catch (failed) {
      setError(failed);
    }
    isAsking.current = false;
  };
  useEffect(() => {
    if (!end.current || !hasMore) return undefined;
    // A busy browser reports several changes in one call, oldest first.
    const watcher = new IntersectionObserver((changes) => changes.at(-1).isIntersecting && more());
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [next, hasMore]);
  return html`${!events.length && html`<p class="quiet">Nothing of that kind has happened in that time.</p>`}
    <ol class="timeline">${byDay(events).map(([day, some]) => html`<li key=${day}><h2>${day}</h2><ol>${some.map((one) => html`<${Happening} key=${one.id} event=${one} />`)}</ol></li>`)}</ol>
    ${error && html`<${Failure} error=${error} />`}
    ${hasMore && html`<button type="button" id="older" ref=${end} onClick=${more}>Older events</button>`}
    ${events.length >= MOST && html`<p class="quiet">The newest ${MOST} are shown; choose a kind, a queue or a shorter time to see others.</p>`}`;
}

function byDay(events) {
  const days = new Map();
  for (const one of events) {
    const day = new Date(timeOf(one)).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "long", year: "numeric" });
    if (!days.has(day)) days.set(day, []);
    days.get(day).push(one);
  }
  return [...days];
}

function Happening({ event }) {
  const color = colorOfEvent(event);
  const time = timeOf(event);
  const details = Object.entries(event.details || {}).filter(([, value]) => value !== null && typeof value !== "object");
  return html`<li class=${`event ${color}`}>
    <p><time datetime=${time} title=${clock(time)}>${new Date(time).toLocaleTimeString("en-GB", { hour12: false })}</time> <span class="quiet">${ago(time)}</span>
      <span class=${`verdict ${color}`}><span aria-hidden="true">${SIGNS[color] || "○"}</span> ${words(event.kind)}</span>
      ${event.consumer && html` <${ConsumerLink} row=${{ ...splitRef(event.consumer), ...inQueue(event.queue) }} limit=${60} />`}
      ${event.consumer && event.queue && html` <span class="quiet">in</span>`} ${event.queue && html` <${QueueLink} ...${splitRef(event.queue)} limit=${60} />`}</p>
    <p class="sentence"><bdi>${shorten(visible(event.reason || event.sentence || ""), 600)}</bdi></p>
    ${(details.length > 0 || event.actor) && html`<details><summary>Details</summary><dl class="facts">
      ${event.actor && html`<div><dt>${event.kind === "act" ? "Done by" : "Noticed by"}</dt><dd><bdi>${shorten(visible(event.actor), 120)}</bdi></dd></div>`}
      ${event.subject && html`<div><dt>About</dt><dd><bdi>${shorten(visible(event.subject), 200)}</bdi></dd></div>`}
      ${details.map(([name, value]) => html`<div key=${name}><dt>${words(shorten(visible(name), 40))}</dt><dd><bdi>${shorten(visible(value), 200)}</bdi></dd></div>`)}</dl></details>`}
  </li>`;
}

function inQueue(queue) {
  if (!queue) return {};
  const { cluster, path } = splitRef(queue);
  return { queue_cluster: cluster, queue_path: path };
}
