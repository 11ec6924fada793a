// Agents of the stage, and how this one is.

import { get } from "../api.js";
import { ago, clock, count, shorten, visible, words } from "../format.js";
import { html } from "../lib.js";
import { Facts, Failure, useAnswer, Verdict } from "../parts.js";
import { Login } from "../session.js";

const EVERY_MILLISECONDS = 5000;

export function Agents({ overview, session, onSession }) {
  const { value: health, error } = useAnswer((signal) => ready(signal), [], EVERY_MILLISECONDS);
  const pass = health?.agent_pass;
  return html`<h1 tabindex="-1">Agents</h1>
    <section class="card" aria-labelledby="this"><h2 id="this">This agent</h2>
      ${error && html`<${Failure} error=${error} />`}
      ${health && html`<${Facts} facts=${[
        ["State", html`<${Verdict} verdict=${health.status} color=${health.status === "ok" ? "green" : "red"} />`],
        session?.stage && ["Stage", html`<bdi>${shorten(visible(session.stage), 80)}</bdi>`],
        session?.agent && ["Host", html`<bdi>${shorten(visible(session.agent), 120)}</bdi>`],
        ["Passes", count(pass?.pass_index)],
        ["Last pass", html`<span title=${clock(pass?.pass_instant)}>${ago(pass?.pass_instant)}</span>`],
        ["Last pass that succeeded", html`<span title=${clock(pass?.last_success_instant)}>${ago(pass?.last_success_instant)}</span>`],
        ["Serves", `${count(overview.queues.length)} queues, ${count(overview.consumers.length)} consumers`],
      ]} />`}
      ${pass?.error && pass.error.code !== 0 && html`<${Failure} error=${pass.error} />`}
    </section>
    ${overview.agents.map((one) => html`<section class="card" key=${one.host || one.address}><h2><bdi>${shorten(visible(one.host || one.address || "agent"), 120)}</bdi></h2>
      <${Facts} facts=${Object.entries(one).filter(([, value]) => value !== null && typeof value !== "object").map(([name, value]) => [words(name), html`<bdi>${shorten(visible(value), 200)}</bdi>`])} /></section>`)}
    ${overview.unreachable.map((one) => html`<${Failure} key=${one.host || one} error=${{ message: `${one.host || one.address || one} does not answer` }} />`)}
    ${session && !session.user && session.login === "token" && html`<section class="card" aria-labelledby="login-title"><h2 id="login-title">Log in</h2>
      <${Login} session=${session} onSession=${onSession} /></section>`}`;
}

// An agent that is not ready says so with status 503, and that is an answer.
async function ready(signal) {
  const response = await fetch("/health/ready", { signal, cache: "no-store" });
  return response.json();
}
