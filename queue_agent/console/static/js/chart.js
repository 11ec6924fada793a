// Lines over time, drawn by uPlot; and sparklines.

import { html, Plot, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";

const HEIGHT = 190;
const FEW_POINTS = 40;
const NO_MARKS = [];
const SPARK = { width: 96, height: 22 };

// Charts are redrawn in other colors when the page's are others.
export function useTheme() {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const next = () => setTheme((last) => last + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", next);
    addEventListener("themechange", next);
    return () => {
      dark.removeEventListener("change", next);
      removeEventListener("themechange", next);
    };
  }, []);
  return theme;
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const shorter = (format) => (value) => (value === null || value === undefined ? "–" : format(value));

// lines: {label, values, color, format, isDashed}; band: [upper, lower] as numbers of lines; a null is a gap.
// marks: {time, color, label}, drawn as lines upright; what they say is in the text of the picture and in a list below.
export function Chart({ title, times, lines, format, band, note, marks = NO_MARKS, href }) {
  const place = useRef(null);
  const plot = useRef(null);
  const theme = useTheme();
  const shape = JSON.stringify([theme, lines.map((one) => [one.label, one.color, one.isDashed]), band]);
  const marked = useRef(marks);
  marked.current = marks;
  const data = [times, ...lines.map((one) => one.values)];
  useLayoutEffect(() => {
    if (times.length < 2) return undefined;
    const options = describe(lines, format, band, place.current.clientWidth, () => marked.current);
    plot.current = new Plot(options, data, place.current);
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    watcher.observe(place.current);
    return () => {
      watcher.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [shape, times.length < 2]);
  useLayoutEffect(() => plot.current?.setData(data), [times, lines, marks]);
  const inSight = marks.filter((one) => one.time >= times[0] && one.time <= times.at(-1));
  const told = `${title}. ${lines.map((one) => tell(one, format)).join(" ")}`;
  return html`<figure class="chart">
    <figcaption>${title}${note && html` <span class="quiet">${note}</span>`}</figcaption>
    ${times.length < 2
      ? html`<p class="quiet">The first points are to come.</p>`
      : html`<div ref=${place} role="img" aria-label=${told} class="plot"></div>`}
    ${inSight.length > 0 && html`<p class="marks">${Object.entries(groups(inSight)).map(([label, some]) => html`<span key=${label}><span class=${`mark-sign ${some[0].color}`} aria-hidden="true"></span> ${label}: ${some.length === 1 ? momentOf(some[0].time) : `${some.length}, last ${momentOf(some.at(-1).time)}`}</span> `)}
      ${href && html`<a href=${href}>events</a>`}</p>`}
  </figure>`;
}

function groups(marks) {
  const found = {};
  for (const one of marks) (found[one.label] ||= []).push(one);
  return found;
}

const momentOf = (time) => new Date(time * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", hour12: false });

function tell({ label, values, format: own }, format) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.length) return `${label}: not known.`;
  const say = own || format;
  return `${label}: last ${say(known.at(-1))}, largest ${say(Math.max(...known))}.`;
}

function drawMarks(plot, marks) {
  const { ctx: pen, bbox: box } = plot;
  pen.save();
  pen.lineWidth = 2 * devicePixelRatio;
  for (const { time, color } of marks) {
    if (time < plot.scales.x.min || time > plot.scales.x.max) continue;
    const x = plot.valToPos(time, "x", true);
    pen.strokeStyle = pen.fillStyle = ink(color);
    pen.beginPath();
    pen.moveTo(x, box.top);
    pen.lineTo(x, box.top + box.height);
    pen.stroke();
  }
  pen.restore();
}

function describe(lines, format, band, width, findMarks) {
  const axis = {
    stroke: ink("quiet"),
    grid: { stroke: ink("line"), width: 1 },
    ticks: { stroke: ink("line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    scales: { y: { range: (self, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.08 : 1] } },
    axes: [{ ...axis, space: 70, values: (self, ticks, at, space, step) => ticks.map((tick) => moment(tick, step)) }, { ...axis, size: 88, values: (self, ticks) => once(ticks.map(shorter(format))) }],
    hooks: { drawSeries: [(self, at) => at === lines.length && drawMarks(self, findMarks())] },
    bands: band ? [{ series: [band[0] + 1, band[1] + 1], fill: ink("band") }] : [],
    series: [
      { value: (self, at) => (at === null ? "–" : new Date(at * 1000).toLocaleTimeString("en-GB", { hour12: false })) },
      ...lines.map((one) => ({
        label: one.label,
        stroke: ink(one.color),
        width: 2,
        dash: one.isDashed ? [6, 4] : undefined,
        spanGaps: Boolean(one.isDashed),
        points: { show: (self) => self.data[0].length < FEW_POINTS, size: 4 },
        value: (self, value) => shorter(one.format || format)(value),
      })),
    ],
  };
}

// Fractions of what is counted whole have no label.
const once = (labels) => labels.map((label, at) => (label === labels[at - 1] ? null : label));

function moment(tick, step) {
  const text = new Date(tick * 1000);
  if (step >= 86400) return text.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const parts = { hour: "2-digit", minute: "2-digit", hour12: false };
  return text.toLocaleTimeString("en-GB", step < 60 ? { ...parts, second: "2-digit" } : parts);
}

// The shape of the last hour; figures stand beside it.
export function Spark({ points }) {
  const known = (points || []).filter((value) => value !== null);
  if (known.length < 2) return null;
  const top = Math.max(...known);
  const bottom = Math.min(0, ...known);
  const height = top - bottom || 1;
  const x = (at) => ((at / (points.length - 1)) * (SPARK.width - 2) + 1).toFixed(1);
  const y = (value) => (SPARK.height - 2 - ((value - bottom) / height) * (SPARK.height - 4)).toFixed(1);
  let path = "";
  let isPen = false;
  points.forEach((value, at) => {
    if (value !== null) path += `${isPen ? "L" : "M"}${x(at)} ${y(value)}`;
    isPen = value !== null;
  });
  return html`<svg class="spark" viewBox=${`0 0 ${SPARK.width} ${SPARK.height}`} width=${SPARK.width} height=${SPARK.height}
    aria-hidden="true"><path d=${path} /></svg>`;
}

// Points that this page collects itself, for agents that keep none.
export function useOwnPoints(key, figures) {
  const kept = useRef({ key, times: [], series: {} });
  if (kept.current.key !== key) kept.current = { key, times: [], series: {} };
  const { times, series } = kept.current;
  const now = figures ? Math.floor(figures.at) : null;
  if (figures && times.at(-1) !== now) {
    times.push(now);
    for (const [name, value] of Object.entries(figures.values)) {
      (series[name] ||= Array(times.length - 1).fill(null)).push(value ?? null);
    }
  }
  return { times: [...times], series: Object.fromEntries(Object.entries(series).map(([name, all]) => [name, [...all]])) };
}
