// What has happened: trims, losses, hand-overs, exports, acts, verdicts.

import { get, offers, query } from "../api.js";
import { ago, clock, shorten, visible, words } from "../format.js";
import { html, useState } from "../lib.js";
import { Failure, QueueLink, useAnswer } from "../parts.js";
import { refine } from "../router.js";

const EVERY_MILLISECONDS = 5000;
const PAGE = 100;
const KINDS = ["trim", "loss", "hand_over", "export", "act", "verdict"];

export function Events({ parameters }) {
  const { cluster, path, kind = "" } = parameters;
  const [older, setOlder] = useState({ events: [], next: undefined });
  const [error, setError] = useState(null);
  const newest = useAnswer(
    async (signal) => ((await offers("/api/v1/events")) ? get(`/api/v1/events?${query({ limit: PAGE, cluster, path })}`, signal) : { isMissing: true }), [cluster, path], EVERY_MILLISECONDS);
  const title = html`<h1 tabindex="-1">Events ${path && html`<span class="quiet">of <${QueueLink} cluster=${cluster} path=${path} /></span>`}</h1>`;
  if (newest.value?.isMissing) return html`${title}<p class="quiet">This agent keeps no events.</p>`;
  const seen = new Set();
  const events = [...(newest.value?.events || []), ...older.events].filter((one) => !seen.has(one.id) && seen.add(one.id));
  const next = older.next === undefined ? newest.value?.next : older.next;
  const more = async () => {
    try {
      const page = await get(`/api/v1/events?${query({ limit: PAGE, before: next, cluster, path })}`);
      setOlder((last) => ({ events: [...last.events, ...page.events], next: page.next }));
    } catch (failed) {
      setError(failed);
    }
  };
  const shown = events.filter((one) => !kind || one.kind === kind);
  return html`${title}
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><label>Kind <select id="kind" value=${kind} onChange=${(event) => refine({ kind: event.target.value })}>
      <option value="">all</option>${KINDS.map((one) => html`<option key=${one} value=${one}>${words(one)}</option>`)}</select></label></form>
    ${(newest.error || error) && html`<${Failure} error=${newest.error || error} />`}
    ${newest.value && !shown.length && html`<p class="quiet">Nothing has happened.</p>`}
    <ol class="timeline">${shown.map((one) => html`<${Happening} key=${one.id} event=${one} />`)}</ol>
    ${next !== null && next !== undefined && html`<button type="button" id="older" onClick=${more}>Older events</button>`}`;
}

function Happening({ event }) {
  return html`<li class=${`event ${event.kind}`}>
    <p><time datetime=${event.time} title=${clock(event.time)}>${ago(event.time)}</time> <span class="tag">${words(event.kind)}</span>
      ${event.path && html` <${QueueLink} cluster=${event.cluster} path=${event.path} limit=${80} />`}</p>
    <p class="sentence"><bdi>${shorten(visible(event.sentence || ""), 600)}</bdi></p></li>`;
}
