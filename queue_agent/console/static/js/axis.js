// A partition from its first row to its end on one axis: who has read how far, and what keeps rows.

import { exact, plural, shorten, visible, words } from "./format.js";
import { html, useState } from "./lib.js";

const FIRST_SHOWN = 12;
const FLOORS = { retained_rows: "The number of rows to keep", retained_lifetime_duration: "The time to keep rows" };

// partitions: {index, lower, upper, target, constraint, floors: [{kind, row}], marks: [{kind, who, offset, isVital}]}
export function Axes({ partitions }) {
  const [isAll, setAll] = useState(false);
  const byHeld = [...partitions].sort((a, b) => (b.constraint?.held_row_count || 0) - (a.constraint?.held_row_count || 0));
  const shown = isAll ? partitions : byHeld.slice(0, FIRST_SHOWN).sort((a, b) => a.index - b.index);
  return html`<div class="axes">
    <${Legend} />
    ${shown.map((one) => html`<${Axis} key=${one.index} partition=${one} />`)}
    ${partitions.length > shown.length && html`<button type="button" onClick=${() => setAll(true)}>
      Show all ${exact(partitions.length)} partitions</button>`}
  </div>`;
}

function Legend() {
  return html`<ul class="legend" aria-label="Marks of the axis">
    <li><span class="swatch rows"></span> rows there</li>
    <li><span class="swatch trimmable"></span> to be trimmed</li>
    <li><span aria-hidden="true">▲</span> vital consumer</li>
    <li><span aria-hidden="true">△</span> other consumer</li>
    <li><span aria-hidden="true">■</span> export</li>
    <li><span class="swatch floor"></span> floor of the policy</li>
    <li><span class="swatch bound"></span> what keeps rows</li>
  </ul>`;
}

function Axis({ partition }) {
  const { index, lower, upper, target, constraint, floors, marks } = partition;
  const offsets = [...marks.map((mark) => mark.offset), ...floors.map((floor) => floor.row)];
  const bound = constraint?.row_index ?? null;
  const low = Math.min(lower, ...offsets, bound ?? lower);
  const high = Math.max(upper, ...offsets, bound ?? upper);
  const x = (row) => `${left(row, low, high)}%`;
  const width = (from, to) => `${left(to, low, high) - left(from, low, high)}%`;
  const trimmed = target === null || target === undefined ? lower : target;
  return html`<div class="axis">
    <h4>Partition ${index}</h4>
    <svg aria-hidden="true">
      <line class="ground" x1="0" x2="100%" y1="23" y2="23" />
      <rect class="rows" x=${x(lower)} y="18" width=${width(lower, upper)} height="10" />
      <rect class="trimmable" x=${x(lower)} y="18" width=${width(lower, trimmed)} height="10" />
      ${bound !== null && html`<line class="bound" x1=${x(bound)} x2=${x(bound)} y1="4" y2="42" />`}
      ${floors.map((floor) => html`<line key=${floor.kind} class="floor" x1=${x(floor.row)} x2=${x(floor.row)} y1="8" y2="38"><title>${words(floor.kind)}: row ${exact(floor.row)}</title></line>`)}
      ${marks.map((mark) => html`<${Mark} key=${mark.kind + mark.who} mark=${mark} x=${x(mark.offset)} />`)}
    </svg>
    <p class="ends"><span>${exact(low)}</span><span>${exact(high)}</span></p>
    <p class="told">${tell(partition)}</p>
  </div>`;
}

// In percent, with room for marks at both ends.
const left = (row, low, high) => (high === low ? 1 : ((row - low) / (high - low)) * 98 + 1);

function Mark({ mark, x }) {
  const isExport = mark.kind === "export";
  return html`<svg x=${x} y=${isExport ? 3 : 30} overflow="visible"><title>${name(mark.who)}: row ${exact(mark.offset)}</title>
    ${isExport ? html`<rect class="mark export" x="-6" width="12" height="12" />`
      : html`<polygon class=${`mark ${mark.isVital ? "vital" : "other"}`} points="0,0 -8,13 8,13" />`}</svg>`;
}

const name = (text) => shorten(visible(text), 80);

// What the picture shows, in words.
function tell({ lower, upper, target, constraint, floors, marks }) {
  const parts = [`Rows ${exact(lower)} to ${exact(upper)}, ${plural(upper - lower, "row")}.`];
  for (const mark of marks) {
    const behind = upper - mark.offset;
    const way = behind === 0 ? "at the end" : behind > 0 ? `${plural(behind, "row")} before the end` : `${plural(-behind, "row")} past the end`;
    parts.push(`${name(mark.who)} is ${way}.`);
  }
  for (const floor of floors) parts.push(`${FLOORS[floor.kind] || words(floor.kind)} keeps rows from ${exact(floor.row)} on.`);
  if (target !== null && target !== undefined && target > lower) parts.push(`Trimming removes ${plural(target - lower, "row")}.`);
  if (constraint) {
    const who = constraint.subject ? ` (${name(constraint.subject)})` : "";
    const held = constraint.held_row_count ? `; it keeps ${plural(constraint.held_row_count, "row")}` : "";
    const said = constraint.message ? `: ${name(constraint.message)}` : "";
    parts.push(`Bound by ${words(constraint.kind)}${who}${held}${said}.`);
  }
  return parts.join(" ");
}
