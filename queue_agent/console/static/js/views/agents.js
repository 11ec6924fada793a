// Agents of the stage: who is there, who does what, and how each is.

import { Acts, agentActs } from "../acts.js";
import { get } from "../api.js";
import { ago, clock, count, plural, secondsSince, shorten, visible } from "../format.js";
import { html } from "../lib.js";
import { Facts, Failure, Missing, useAnswer, Verdict } from "../parts.js";

const EVERY_MILLISECONDS = 5000;
const LATE_SECONDS = 60; // as /health/ready has it

export function Agents({ session }) {
  const { value, error } = useAnswer((signal) => get("/api/v1/agents", signal), [], EVERY_MILLISECONDS);
  const agents = value?.agents || [];
  return html`<h1 tabindex="-1">Agents ${value && html`<span class="quiet">${stageOf(agents)}</span>`}</h1>
    ${error && html`<${Failure} error=${error} />`}
    <${Missing} missing=${value?.missing} />
    <div class="agents">${agents.map((one) => html`<${Agent} key=${one.address} agent=${one} session=${session} />`)}</div>`;
}

function stageOf(agents) {
  const stage = agents.find((one) => one.asked)?.stage;
  return html`${stage && html`of stage <bdi>${shorten(visible(stage), 80)}</bdi>: `}${count(agents.length)}`;
}

function Agent({ agent, session }) {
  const pass = agent.agent_pass || {};
  const [state, color] = stateOf(agent, pass);
  const roles = [agent.keeps_tables && "keeps the state tables", agent.distributes && "shares out objects"].filter(Boolean);
  const alerts = Object.entries(agent.alerts || {});
  return html`<section class="card agent"><h2><bdi>${shorten(visible(agent.address || agent.host || "agent"), 120)}</bdi> ${agent.asked && html`<span class="tag">this one</span>`}</h2>
    <p><${Verdict} verdict=${state} color=${color} /> ${roles.length > 0 && html`<span class="quiet">${roles.join(", ")}</span>`}</p>
    <${Facts} facts=${[
      ["Leads", `${plural(agent.queues, "queue")}, ${plural(agent.consumers, "consumer")}`],
      ["Version", shorten(visible(agent.version || "–"), 40)],
      ["Host", html`<bdi>${shorten(visible(agent.host || "–"), 120)}</bdi>`],
      ["HTTP port", agent.http_port ?? "–"],
      ["Started", html`<span title=${clock(agent.start_time)}>${ago(agent.start_time)}</span>`],
      ["Last pass that succeeded", html`<span title=${clock(pass.last_success_instant)}>${ago(pass.last_success_instant)}</span>`],
    ]} />
    ${agent.address && html`<${Acts} session=${session} acts=${agentActs(agent.address)} />`}
    ${pass.error && pass.error.code !== 0 && html`<${Failure} error=${pass.error} />`}
    ${alerts.map(([category, alert]) => html`<${Failure} key=${category} error=${alert} />`)}
  </section>`;
}

function stateOf(agent, pass) {
  if (agent.is_banned) return ["banned", "amber"];
  if (pass.last_success_instant && secondsSince(pass.last_success_instant) < LATE_SECONDS) {
    return agent.is_member === false ? ["no member", "amber"] : ["ok", "green"];
  }
  return ["not ready", "red"];
}
