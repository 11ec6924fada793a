// What can be done from here, if configuration and login allow it: a dialog for each, and the agent's own preview first.

import { post } from "./api.js";
import { exact, plural, shorten, visible } from "./format.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { Failure, Name } from "./parts.js";

const RESET = "reset";
const name = (text) => shorten(visible(text), 160);

export function queueActs({ cluster, path }) {
  const queue = { cluster, path };
  const called = `${cluster}:${path}`;
  return [
    { act: "mount", label: "Mount", body: queue, about: called, told: "All partitions of the queue will be mounted." },
    { act: "unmount", label: "Unmount", body: queue, about: called, isGrave: true, told: "Nobody can read or write the queue until it is mounted again." },
    { act: "pause-trimming", label: "Pause trimming", body: queue, about: called, told: "Rows stay, whoever has read them, until trimming is resumed. The queue grows meanwhile." },
    { act: "resume-trimming", label: "Resume trimming", body: queue, about: called, isGrave: true, told: "Rows that the policy does not keep will be trimmed." },
    { act: "ban", label: "Ban", body: { ...queue, kind: "queue" }, about: called, isGrave: true, told: "The agent does nothing about the queue until the ban is lifted: no status, no trimming, no exports." },
    { act: "unban", label: "Lift ban", body: { ...queue, kind: "queue" }, about: called, told: "The agent watches the queue again." },
  ];
}

export function consumerActs({ cluster, path, name: own }, queue, vital) {
  const pair = { cluster, path, ...(own ? { name: own } : {}), queue_cluster: queue.cluster, queue_path: queue.path };
  const called = `${cluster}:${path}`;
  return [
    { act: RESET, label: "Reset offsets", body: pair, about: called, isGrave: true, told: "The consumer goes on reading from another row. Rows before it are skipped; rows after it may be read twice." },
    vital
      ? { act: "register", label: "Make not vital", body: { ...pair, vital: false }, about: called, isGrave: true, told: "Trimming will not wait for this consumer any more." }
      : { act: "register", label: "Make vital", body: { ...pair, vital: true }, about: called, told: "Trimming will wait until this consumer has read." },
    { act: "unregister", label: "Unregister", body: pair, about: called, isGrave: true, told: "The consumer cannot pull from the queue any more, and trimming does not wait for it." },
    { act: "ban", label: "Ban", body: { cluster, path, kind: "consumer" }, about: called, isGrave: true, told: "The agent does nothing about the consumer until the ban is lifted." },
    { act: "unban", label: "Lift ban", body: { cluster, path, kind: "consumer" }, about: called, told: "The agent watches the consumer again." },
  ];
}

export function Acts({ session, acts }) {
  const [open, setOpen] = useState(null);
  if (!session?.may?.acts) return null;
  return html`<div class="acts" role="group" aria-label="Acts">
    ${acts.map((one) => html`<button type="button" key=${one.label} data-act=${one.act} onClick=${() => setOpen(one)}>${one.label}…</button>`)}
    ${open && html`<${Dialog} act=${open} session=${session} onClose=${() => setOpen(null)} />`}
  </div>`;
}

function Dialog({ act, session, onClose }) {
  const element = useRef(null);
  const [to, setTo] = useState({ kind: "earliest", offset: "", time: "", partitions: "" });
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    element.current.showModal();
    return () => element.current?.close();
  }, []);
  const isReset = act.act === RESET;
  const change = (part) => {
    setTo((last) => ({ ...last, ...part }));
    setAnswer(null);
  };
  const send = async (isDry) => {
    setBusy(true);
    setError(null);
    try {
      const more = isReset ? destination(to) : {};
      setAnswer(await post(`/api/v1/acts/${act.act}`, { ...act.body, ...more, dry_run: isDry }, session.csrf));
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  const isDone = answer?.done === true;
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onClose=${onClose} onCancel=${onClose}>
    <h2 id="dialog-title">${act.label}</h2>
    <p><${Name} text=${act.about} limit=${200} /></p>
    <p>${act.told}</p>
    ${isReset && html`<${Destination} to=${to} onChange=${change} />`}
    ${error && html`<${Failure} error=${error} />`}
    <div role="status">${answer && html`<${Outcome} answer=${answer} isReset=${isReset} isDone=${isDone} />`}</div>
    <p class="buttons">
      ${!isDone && !answer && html`<button type="button" id="preview" disabled=${isBusy} onClick=${() => send(true)}>Preview</button>`}
      ${!isDone && answer && html`<button type="button" id="confirm" class=${act.isGrave ? "grave" : "go"} disabled=${isBusy} onClick=${() => send(false)}>${act.label}</button>`}
      <button type="button" id="close" onClick=${onClose}>${isDone ? "Close" : "Cancel"}</button>
    </p>
  </dialog>`;
}

function destination({ kind, offset, time, partitions }) {
  const chosen = partitions.trim() ? partitions.split(",").map((one) => Number(one.trim())) : null;
  if (chosen && !chosen.every((one) => Number.isInteger(one) && one >= 0)) throw new Error("Partitions are numbers, separated by commas");
  if (kind === "offset" && !/^\d+$/.test(offset)) throw new Error("Say which row");
  if (kind === "time" && !time) throw new Error("Say which time");
  const to = kind === "offset" ? `offset:${offset}` : kind === "time" ? `time:${new Date(time).toISOString()}` : kind;
  return { to, partitions: chosen };
}

function Destination({ to, onChange }) {
  return html`<div class="fields">
    <label>To <select id="reset-to" value=${to.kind} onChange=${(event) => onChange({ kind: event.target.value })}>
      <option value="earliest">the first row there</option><option value="latest">the end</option>
      <option value="time">a time</option><option value="offset">a row</option></select></label>
    ${to.kind === "offset" && html`<label>Row <input type="number" min="0" id="reset-offset" value=${to.offset} onInput=${(event) => onChange({ offset: event.target.value })} /></label>`}
    ${to.kind === "time" && html`<label>Time (yours) <input type="datetime-local" step="1" id="reset-time" value=${to.time} onInput=${(event) => onChange({ time: event.target.value })} /></label>`}
    <label>Partitions <input id="reset-partitions" placeholder="all, or 0, 3" value=${to.partitions} onInput=${(event) => onChange({ partitions: event.target.value })} /></label>
  </div>`;
}

function Outcome({ answer, isReset, isDone }) {
  const plan = answer.plan || {};
  const moves = plan.partitions || plan.moves || [];
  const notes = plan.notes || [];
  return html`<p class=${isDone ? "done" : ""}>${isDone ? "Done." : isReset ? tell(moves) : "The agent would do this."}</p>
    ${notes.map((note) => html`<p key=${note} class="note"><bdi>${name(note)}</bdi></p>`)}
    ${isReset && moves.length > 0 && html`<div class="scroll" role="region" aria-label="Moves" tabindex="0"><table id="moves">
      <thead><tr><th scope="col" class="number">Partition</th><th scope="col" class="number">From</th><th scope="col" class="number">To</th><th scope="col">Rows</th></tr></thead>
      <tbody>${moves.slice(0, 200).map((move) => html`<${Move} key=${partitionOf(move)} move=${move} />`)}</tbody></table></div>`}
    ${!isReset && Object.entries(plan).filter(([, value]) => typeof value !== "object").map(([key, value]) => html`<p key=${key} class="note"><bdi>${name(key)}: ${name(value)}</bdi></p>`)}`;
}

const partitionOf = (move) => move.partition_index ?? move.partition;
const from = (move) => move.current ?? move.from ?? 0;
const target = (move) => move.target ?? move.to;

function Move({ move }) {
  const way = target(move) - from(move);
  const told = way === 0 ? "stays" : way > 0 ? `${exact(way)} skipped` : `${exact(-way)} again`;
  return html`<tr><td class="number">${partitionOf(move)}</td><td class="number">${exact(from(move))}</td><td class="number">${exact(target(move))}</td><td>${told}</td></tr>`;
}

function tell(moves) {
  const changed = moves.filter((move) => target(move) !== from(move));
  return changed.length ? `${plural(changed.length, "partition")} would move.` : "No partition would move.";
}
