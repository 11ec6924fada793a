// What can be done from here, if configuration and login allow it: a dialog for each, and the agent's own preview first.

import { post } from "./api.js";
import { exact, plural, shorten, visible, words } from "./format.js";
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
  ];
}

export function consumerActs({ cluster, path, name: own }, queue, vital) {
  const pair = { cluster, path, ...(own ? { name: own } : {}), queue_cluster: queue.cluster, queue_path: queue.path };
  const called = `${cluster}:${path}`;
  return [
    { act: RESET, label: "Reset offsets", body: pair, about: called, isGrave: true, told: "The consumer goes on reading from another row. Rows before it are skipped; rows after it may be read twice." },
    { act: "acknowledge", label: "Acknowledge", body: pair, about: called, told: "Losses, reshards and re-creations that are listed are known: the verdict tells of them no longer. Counts stay." },
    ...(vital ? [{ act: "protect", label: "Protect", body: pair, about: called, told: "This consumer is not put into quarantine, and one that is there ends: the queue keeps what it has not read." }] : []),
    vital
      ? { act: "register", label: "Make not vital", body: { ...pair, vital: false }, about: called, isGrave: true, told: "Trimming will not wait for this consumer any more." }
      : { act: "register", label: "Make vital", body: { ...pair, vital: true }, about: called, told: "Trimming will wait until this consumer has read." },
    { act: "unregister", label: "Unregister", body: pair, about: called, isGrave: true, told: "The consumer cannot pull from the queue any more, and trimming does not wait for it." },
  ];
}

export function agentActs(agent) {
  return [
    { act: "ban", label: "Ban", body: { agent }, about: agent, isGrave: true, told: "The agent leads nothing until the ban is lifted: the others of its stage take over." },
    { act: "unban", label: "Lift ban", body: { agent }, about: agent, told: "The agent gets its share of queues and consumers again." },
  ];
}

export function Acts({ session, acts }) {
  const [open, setOpen] = useState(null);
  const allowed = acts.filter((one) => session?.may.acts.includes(one.act));
  if (!allowed.length) return null;
  return html`<div class="acts" role="group" aria-label="Acts">
    ${allowed.map((one) => html`<button type="button" key=${one.label} data-act=${one.act} onClick=${() => setOpen(one)}>${one.label}…</button>`)}
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
      const agreed = isDry ? {} : { preview: answer.preview };
      setAnswer(await post(`/api/v1/acts/${act.act}`, { ...act.body, ...more, ...agreed, dry_run: isDry }, session.csrf));
    } catch (failed) {
      setAnswer(null); // A preview is good once.
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  const isDone = answer?.done === true;
  const isOver = Boolean(answer && !answer.preview);
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onClose=${onClose} onCancel=${onClose}>
    <h2 id="dialog-title">${act.label}</h2>
    <p><${Name} text=${act.about} limit=${200} /></p>
    <p>${act.told}</p>
    ${isReset && !isOver && html`<${Destination} to=${to} onChange=${change} />`}
    ${error && html`<${Failure} error=${error} />`}
    <div role="status">${answer && html`<${Outcome} answer=${answer} isReset=${isReset} isDone=${isDone} isOver=${isOver} />`}</div>
    <p class="buttons">
      ${!answer && html`<button type="button" id="preview" disabled=${isBusy} onClick=${() => send(true)}>Preview</button>`}
      ${answer && !isOver && html`<button type="button" id="confirm" class=${act.isGrave ? "grave" : "go"} disabled=${isBusy} onClick=${() => send(false)}>${act.label}</button>`}
      <button type="button" id="close" onClick=${onClose}>${isOver ? "Close" : "Cancel"}</button>
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

function Outcome({ answer, isReset, isDone, isOver }) {
  const plan = answer.plan || {};
  const moves = plan.partitions || [];
  const notes = plan.notes || [];
  const failures = Object.entries(answer.failures || {});
  return html`<p class=${isDone ? "done" : ""}>${isDone ? "Done." : isOver ? "Not all of it was done." : isReset ? tell(moves) : "The agent would do this."}</p>
    ${failures.slice(0, 20).map(([index, why]) => html`<${Failure} key=${index} error=${`Partition ${index} ${why}`} />`)}
    ${notes.map((note) => html`<p key=${note} class="note"><bdi>${name(note)}</bdi></p>`)}
    ${isReset && moves.length > 0 && html`<div class="scroll" role="region" aria-label="Moves" tabindex="0"><table id="moves">
      <thead><tr><th scope="col" class="number">Partition</th><th scope="col" class="number">From</th><th scope="col" class="number">To</th><th scope="col">Rows</th></tr></thead>
      <tbody>${moves.slice(0, 200).map((move) => html`<${Move} key=${partitionOf(move)} move=${move} />`)}</tbody></table></div>`}
    ${!isReset && Object.entries(plan).filter(([, value]) => typeof value !== "object").map(([key, value]) => html`<p key=${key} class="note"><bdi>${words(name(key))}: ${name(value)}</bdi></p>`)}`;
}

const partitionOf = (move) => move.partition_index;
const from = (move) => move.current;
const target = (move) => move.target;

function Move({ move }) {
  const way = target(move) - from(move);
  const told = way === 0 ? "stays" : way > 0 ? `${exact(way)} skipped` : `${exact(-way)} again`;
  return html`<tr><td class="number">${partitionOf(move)}</td><td class="number">${exact(from(move))}</td><td class="number">${exact(target(move))}</td><td>${told}</td></tr>`;
}

function tell(moves) {
  const changed = moves.filter((move) => target(move) !== from(move));
  return changed.length ? `${plural(changed.length, "partition")} would move.` : "No partition would move.";
}
