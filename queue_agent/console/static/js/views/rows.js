// Rows of one partition, with the caller's own right to read them.

import { get, query } from "../api.js";
import { clock, exact, shorten, visible } from "../format.js";
import { html, useState } from "../lib.js";
import { Failure, LongName, QueueLink, useAnswer } from "../parts.js";
import { Login, mayRead } from "../session.js";
import { refine } from "../router.js";

const LIMITS = [10, 50, 100];
const CELL = 300;

export function Rows({ parameters, session, onSession }) {
  const { cluster, path, partition = "0", from = "tail:50", limit = "50" } = parameters;
  const may = Boolean(session) && mayRead(session, cluster);
  const { value, error } = useAnswer(
    (signal) => (may ? get(`/api/v1/rows?${query({ cluster, path, partition, from, limit })}`, signal) : Promise.resolve(null)),
    [cluster, path, partition, from, limit, may]);
  return html`<h1 tabindex="-1"><span class="kind">Rows</span> <${LongName} text=${`${cluster}:${path}`} /></h1>
    <p>Of <${QueueLink} cluster=${cluster} path=${path} />. Rows are read with your own rights, and reading them changes no offset.</p>
    ${!session?.offers.rows ? html`<p class="quiet">This agent shows no rows: its configuration says so.</p>`
      : !may ? html`<${Login} session=${session} onSession=${onSession} cluster=${cluster} />`
      : html`<${Where} key=${`${partition} ${from} ${limit}`} partition=${partition} from=${from} limit=${limit} />
        ${error && html`<${Failure} error=${error} />`}
        ${value && html`<${Found} answer=${value} />`}`}`;
}

function Where({ partition, from, limit }) {
  const at = from.indexOf(":");
  const [form, setForm] = useState({ partition, kind: from.slice(0, at), value: from.slice(at + 1), limit });
  const change = (part) => setForm((last) => ({ ...last, ...part }));
  const show = (event) => {
    event.preventDefault();
    const value = form.kind === "time" ? new Date(form.value).toISOString() : form.value || "0";
    refine({ partition: form.partition, from: `${form.kind}:${value}`, limit: form.limit });
  };
  return html`<form class="filters" onSubmit=${show}>
    <label>Partition <input type="number" min="0" id="rows-partition" value=${form.partition} onInput=${(event) => change({ partition: event.target.value })} /></label>
    <label>From <select id="rows-kind" value=${form.kind} onChange=${(event) => change({ kind: event.target.value, value: "" })}>
      <option value="tail">the last rows</option><option value="offset">row</option><option value="time">time</option></select></label>
    <label>${form.kind === "tail" ? "How many" : form.kind === "time" ? "Time (yours)" : "Row"}
      <input id="rows-value" type=${form.kind === "time" ? "datetime-local" : "number"} step="1" min="0" value=${form.value} required onInput=${(event) => change({ value: event.target.value })} /></label>
    <label>At most <select id="rows-limit" value=${form.limit} onChange=${(event) => change({ limit: event.target.value })}>
      ${LIMITS.map((one) => html`<option key=${one} value=${one}>${one} rows</option>`)}</select></label>
    <button type="submit" id="rows-show">Show</button>
  </form>`;
}

function Found({ answer }) {
  const { rows, columns, next } = answer;
  if (!rows.length) return html`<p class="quiet" role="status">There are no rows.</p>`;
  const names = columns.map((one) => one.name ?? one);
  return html`<div class="scroll" role="region" aria-label="Rows" tabindex="0"><table id="rows">
      <thead><tr><th scope="col" class="number">Row</th><th scope="col">Written</th>
        ${names.map((one) => html`<th scope="col" key=${one}><bdi>${shorten(visible(one), 60)}</bdi></th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.offset}><td class="number">${exact(row.offset)}</td><td class="time">${row.timestamp ? clock(row.timestamp) : "–"}</td>
        ${names.map((one) => html`<td key=${one}><${Cell} value=${row.columns[one]} /></td>`)}</tr>`)}</tbody>
    </table></div>
    ${next !== null && next !== undefined && html`<p><button type="button" id="rows-next" onClick=${() => refine({ from: `offset:${next}` })}>Next rows</button></p>`}`;
}

function Cell({ value }) {
  if (!value || value.type === "null") return html`<span class="quiet">null</span>`;
  const text = visible(value.text);
  return html`<bdi class="cell" title=${shorten(text, 2000)}>${shorten(text, CELL)}</bdi>${value.truncated && html` <span class="tag">cut</span>`}
    ${value.type !== "string" && value.type !== "utf8" && html` <span class="quiet">${value.type}</span>`}`;
}
