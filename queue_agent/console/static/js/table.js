// A table of any length: sorted by its headings, and only the rows in sight are in the document.

import { html, useCallback, useEffect, useMemo, useRef, useState } from "./lib.js";

const ROW_PIXELS = 40;
const PLAIN_ROWS = 60;
const MARGIN_ROWS = 8;

export function compare(a, b) {
  const noA = a === null || a === undefined || Number.isNaN(a);
  const noB = b === null || b === undefined || Number.isNaN(b);
  if (noA || noB) return noA === noB ? 0 : noA ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

// What is not known stays at the end, whichever way the rest goes.
export function sortRows(rows, column, isDown) {
  const known = [];
  const unknown = [];
  for (const row of rows) {
    const value = column.value(row);
    (value === null || value === undefined ? unknown : known).push([value, row]);
  }
  known.sort((left, right) => (isDown ? compare(right[0], left[0]) : compare(left[0], right[0])));
  return [...known.map((pair) => pair[1]), ...unknown];
}

export function Table({ label, columns, rows, keyOf, sort, onSort, empty }) {
  const box = useRef(null);
  const [view, setView] = useState({ first: 0, count: PLAIN_ROWS });
  const [key, isDown] = sort.startsWith("-") ? [sort.slice(1), true] : [sort, false];
  const sorted = useMemo(() => {
    const column = columns.find((one) => one.key === key);
    return column ? sortRows(rows, column, isDown) : rows;
  }, [rows, sort]);
  const isLong = sorted.length > PLAIN_ROWS;
  const look = useCallback(() => {
    if (!box.current) return;
    const first = Math.max(0, Math.floor(box.current.scrollTop / ROW_PIXELS) - MARGIN_ROWS);
    const count = Math.ceil(box.current.clientHeight / ROW_PIXELS) + 2 * MARGIN_ROWS;
    setView((last) => (last.first === first && last.count === count ? last : { first, count }));
  }, []);
  useEffect(look, [isLong, sorted.length]);
  const first = isLong ? Math.min(view.first, Math.max(0, sorted.length - view.count)) : 0;
  const shown = isLong ? sorted.slice(first, first + view.count) : sorted;
  const after = isLong ? sorted.length - first - shown.length : 0;
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  return html`<div class=${`scroll ${isLong ? "long" : ""}`} ref=${box} onScroll=${isLong ? look : null}
      role="region" aria-label=${label} tabindex="0">
    <table aria-rowcount=${sorted.length + 1}>
      <caption class="unseen">${label}</caption>
      <thead><tr>${columns.map((column) => html`<${Heading} key=${column.key} column=${column} sort=${sort} onSort=${onSort} />`)}</tr></thead>
      <tbody>
        ${first > 0 && html`<tr key="before" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${first * ROW_PIXELS}px` }}></td></tr>`}
        ${shown.map((row, at) => html`<${Row} key=${keyOf(row)} row=${row} columns=${columns} index=${first + at + 2} />`)}
        ${after > 0 && html`<tr key="after" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${after * ROW_PIXELS}px` }}></td></tr>`}
      </tbody>
    </table>
  </div>`;
}

function Heading({ column, sort, onSort }) {
  const isUp = sort === column.key;
  const isDown = sort === `-${column.key}`;
  const next = isUp ? `-${column.key}` : isDown || !column.numeric ? column.key : `-${column.key}`;
  const arrow = isUp ? " ↑" : isDown ? " ↓" : "";
  const title = !onSort || !column.value ? column.label : html`<button type="button" onClick=${() => onSort(next)}>
    ${column.label}<span aria-hidden="true">${arrow}</span></button>`;
  return html`<th scope="col" class=${classOf(column)} aria-sort=${isUp ? "ascending" : isDown ? "descending" : null}>${title}</th>`;
}

function Row({ row, columns, index }) {
  return html`<tr aria-rowindex=${index}>${columns.map((column) => html`<td key=${column.key} class=${classOf(column)}>
    ${column.show ? column.show(row) : column.value(row)}</td>`)}</tr>`;
}

const classOf = (column) => [column.numeric && "number", column.wide && "wide"].filter(Boolean).join(" ") || null;
