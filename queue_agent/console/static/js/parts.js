// Small parts that all views are made of.

import { splitRef } from "./api.js";
import { plural, shorten, visible, words } from "./format.js";
import { html, useEffect, useState } from "./lib.js";
import { consumerAddress, queueAddress } from "./router.js";

const COLORS = {
  ok: "green",
  catching_up: "blue",
  racing: "amber",
  recreated: "amber",
  resharded: "amber",
  lagging: "amber",
  lost: "amber",
  waiting: "amber",
  alerts: "amber",
  unreadable: "red",
  ahead: "red",
  losing: "red",
  stopped: "red",
  stalled: "red",
};
const SEVERITY = [
  "unreadable", "unknown", "ahead", "losing", "stopped", "stalled", "racing", "recreated", "resharded", "lagging", "lost",
  "waiting", "alerts", "not_started", "catching_up", "idle", "ok",
];

const NARROW_LIMIT = 28;
const narrow = matchMedia("(max-width: 700px)");

export const colorOf = (verdict) => COLORS[verdict] || "gray";

export function severity(verdict) {
  const at = SEVERITY.indexOf(verdict);
  return at < 0 ? SEVERITY.length : at;
}

// A word and a shape, as color alone says nothing to some people.
const SHAPES = { red: "▲", amber: "◆", blue: "●", green: "✓", gray: "○" };

export function Verdict({ verdict, color = colorOf(verdict) }) {
  return html`<span class=${`verdict ${color}`}><span aria-hidden="true">${SHAPES[color] || "○"}</span> ${words(verdict)}</span>`;
}

// What strangers have written: isolated, with nothing invisible in it, and of bounded length.
export function Name({ text, limit }) {
  const shown = visible(text);
  const room = narrow.matches ? Math.min(limit ?? NARROW_LIMIT, NARROW_LIMIT) : limit;
  return html`<bdi class="name" title=${shorten(shown, 1000)}>${shorten(shown, room)}</bdi>`;
}

export function LongName({ text }) {
  return html`<bdi class="name long">${shorten(visible(text), 5000)}</bdi>`;
}

export function QueueLink({ cluster, path, limit }) {
  return html`<a href=${queueAddress({ cluster, path })}><${Name} text=${`${cluster}:${path}`} limit=${limit} /></a>`;
}

export function ConsumerLink({ row, limit }) {
  const name = row.name ? ` (${row.name})` : "";
  return html`<a href=${consumerAddress(row)}><${Name} text=${`${row.cluster}:${row.path}${name}`} limit=${limit} /></a>`;
}

export function ConsumerOfQueue({ consumer, queue }) {
  const at = splitRef(queue);
  return html`<${ConsumerLink} row=${{ ...splitRef(consumer), queue_cluster: at.cluster, queue_path: at.path }} />`;
}

export function Failure({ error }) {
  return html`<p class="failure" role="alert">${shorten(visible(error.message || error), 2000)}</p>`;
}

// Agents of whom the page says nothing now: an answer is never silently a part of the whole.
export function Missing({ missing }) {
  if (!missing?.length) return null;
  return html`<section class="failure" role="alert" id="missing"><p>Not everything is here, or some of it is old:</p><ul>${missing.map((one) => html`<li key=${one.agent}>
    ${one.agent ? html`Agent <${Name} text=${one.agent} limit=${80} />` : "Of the stage"}: ${shorten(visible(one.reason), 300)}${/[.!?]$/.test(one.reason) ? "" : "."}
    ${one.objects > 0 && ` ${one.agent ? "It leads" : "These are"} ${plural(one.objects, "table")}.`}</li>`)}</ul></section>`;
}

export function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// What to do about a verdict: to be copied, if it is a command.
export const Remedy = ({ of }) =>
  of.action && html`<p class="remedy">What to do: ${of.action_is_command ? html`<${Command} text=${of.action} />` : html`<bdi>${visible(of.action)}</bdi>`}</p>`;

function Command({ text }) {
  const [said, say] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      say("Select it and copy");
    }
    setTimeout(() => say("Copy"), 2000);
  };
  return html`<span class="command"><code tabindex="0">${visible(text)}</code>
    <button type="button" class="small" onClick=${copy} aria-live="polite">${said}</button></span>`;
}

// Asks now and then again; what came last stays while the agent does not answer.
export function useAnswer(ask, keys, everyMilliseconds = 0) {
  const [answer, setAnswer] = useState({ value: null, error: null });
  useEffect(() => {
    const stopping = new AbortController();
    let timer = null;
    setAnswer({ value: null, error: null });
    const once = async () => {
      try {
        const value = await ask(stopping.signal);
        if (!stopping.signal.aborted) setAnswer({ value, error: null });
      } catch (error) {
        if (!stopping.signal.aborted) setAnswer((last) => ({ value: last.value, error }));
      }
      if (everyMilliseconds && !stopping.signal.aborted) timer = setTimeout(once, everyMilliseconds);
    };
    once();
    return () => {
      stopping.abort();
      clearTimeout(timer);
    };
  }, keys);
  return answer;
}

// Whoever hears the page learns of changes that others see.
export function Announcer({ text }) {
  return html`<p class="unseen" role="status">${text}</p>`;
}
