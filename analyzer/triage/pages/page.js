"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 100;
const COLOURS = ["#2f6fb0", "#c8553d", "#4f9d69", "#8a63b8", "#d39b2a", "#3fa7a3", "#b0507e", "#7a8691"];
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
function hint(node, text) { node.append(drawn("title", {}, text)); return node; }
function short(text, length) { return text.length > length ? text.slice(0, length - 1) + "…" : text; }
function tail(text, length) { return text.length > length ? "…" + text.slice(1 - length) : text; }
function panel(parent, title) {
  const box = element("div");
  box.append(element("h2", title));
  $(parent).append(box);
  return box;
}
const names = data.causes.slice(0, COLOURS.length - 1).map((cause) => cause.name);
const colourOf = (cause) => COLOURS[names.includes(cause) ? names.indexOf(cause) : COLOURS.length - 1];

function bars(title, rows, value, label) {
  if (!rows.length) return;
  const height = 20, left = 210, width = 560;
  const top = Math.max(...rows.map(value)) || 1;
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${rows.length * height + 4}`, role: "img", "aria-label": title });
  rows.forEach((row, at) => {
    const y = at * height + 2;
    picture.append(hint(drawn("text", { x: left - 6, y: y + 13, "text-anchor": "end" }, short(row.name, 34)), row.title || row.name));
    picture.append(hint(drawn("rect", { x: left, y, width: Math.max(1, (width - left - 130) * value(row) / top), height: height - 5, fill: colourOf(row.name) }), row.title || row.name));
    picture.append(drawn("text", { x: left + 4 + (width - left - 130) * value(row) / top, y: y + 13, class: "soft" }, label(row)));
  });
  panel("charts", title).append(picture);
}

function overTime() {
  const days = Object.keys(data.days);
  if (!days.length) return;
  const first = Date.parse(days[0]), last = Date.parse(days[days.length - 1]);
  const span = Math.round((last - first) / 86400000) + 1;
  const bucket = Math.max(1, Math.ceil(span / 60));
  const sums = new Map();
  for (const day of days) {
    const at = Math.floor((Date.parse(day) - first) / 86400000 / bucket);
    const sum = sums.get(at) || {};
    for (const [cause, count] of Object.entries(data.days[day])) {
      const name = names.includes(cause) ? cause : "other";
      sum[name] = (sum[name] || 0) + count;
    }
    sums.set(at, sum);
  }
  const columns = Math.ceil(span / bucket), width = 560, height = 180, base = 150;
  const top = Math.max(...[...sums.values()].map((sum) => Object.values(sum).reduce((a, b) => a + b, 0)));
  const step = (width - 40) / columns;
  const title = `Causes over time (UTC, by ${bucket === 1 ? "day" : bucket + " days"})`;
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  picture.append(drawn("text", { x: 30, y: 10, "text-anchor": "end", class: "soft" }, String(top)));
  for (const [at, sum] of sums) {
    let y = base;
    const date = new Date(first + at * bucket * 86400000).toISOString().slice(0, 10);
    for (const [cause, count] of Object.entries(sum)) {
      const tall = (base - 12) * count / top;
      y -= tall;
      picture.append(hint(drawn("rect", { x: 36 + at * step, y, width: Math.min(40, Math.max(1, step - 1)), height: tall, fill: colourOf(cause) }), `${date}: ${cause} ${count}`));
    }
  }
  picture.append(drawn("text", { x: 36, y: base + 16, class: "soft" }, days[0]));
  if (span > 1) picture.append(drawn("text", { x: width - 4, y: base + 16, "text-anchor": "end", class: "soft" }, days[days.length - 1]));
  const box = panel("charts", title);
  box.append(picture);
  const legend = element("div", null, { class: "legend" });
  for (const name of [...names, "other"]) {
    const item = element("span");
    const dot = drawn("svg", { viewBox: "0 0 10 10" });
    dot.append(drawn("rect", { width: 10, height: 10, fill: colourOf(name) }));
    item.append(dot, name);
    legend.append(item);
  }
  box.append(legend);
}

function matrix() {
  const hosts = Object.keys(data.matrix);
  if (!hosts.length) return;
  const seen = new Set(hosts.flatMap((host) => Object.keys(data.matrix[host])));
  const causes = data.causes.map((cause) => cause.name).filter((name) => seen.has(name)).slice(0, 12);
  const bad = new Set(data.nodes.filter((node) => node.bad).map((node) => node.host));
  const left = 170, top = 120, size = 26, width = left + causes.length * size + 90;
  const most = Math.max(...hosts.flatMap((host) => Object.values(data.matrix[host])));
  const title = data.hosts > hosts.length ? `Hosts × causes (${hosts.length} of ${data.hosts} hosts)` : "Hosts × causes";
  const picture = drawn("svg", { viewBox: `0 0 ${Math.max(560, width)} ${top + hosts.length * size + 6}`, role: "img", "aria-label": title });
  causes.forEach((cause, at) => {
    const x = left + at * size + 15;
    picture.append(hint(drawn("text", { x, y: top - 6, transform: `rotate(-50 ${x} ${top - 6})` }, short(cause, 24)), cause));
  });
  hosts.forEach((host, row) => {
    const y = top + row * size;
    const label = drawn("text", { x: left - 6, y: y + 17, "text-anchor": "end" }, (bad.has(host) ? "⚠ " : "") + tail(host, bad.has(host) ? 18 : 22));
    if (bad.has(host)) label.setAttribute("class", "bad");
    picture.append(hint(label, host));
    causes.forEach((cause, column) => {
      const count = data.matrix[host][cause] || 0;
      const cell = drawn("rect", { x: left + column * size, y, width: size - 2, height: size - 2, fill: count ? colourOf(cause) : "#8886", "fill-opacity": count ? 0.25 + 0.75 * count / most : 0.12 });
      picture.append(hint(cell, `${host}, ${cause}: ${count}`));
      if (count) picture.append(drawn("text", { x: left + column * size + 12, y: y + 16, "text-anchor": "middle" }, String(count)));
    });
  });
  panel("charts", title).append(picture);
}

function list(title, rows) {
  if (!rows.length) return;
  const box = panel("lists", title);
  const items = element("ul");
  rows.slice(0, 12).forEach((row) => items.append(row));
  box.append(items);
  if (rows.length > 12) box.append(element("p", `… ${rows.length - 12} more in the dataset`, { class: "soft" }));
}
function linked(text, search) {
  const link = element("a", text, { href: "#runs" });
  link.addEventListener("click", () => { $("search").value = search; $("status").value = ""; $("cause").value = ""; show(); });
  return link;
}

const COLUMNS = [
  ["location", "Run", (run) => run.location], ["status", "Status", (run) => run.status], ["cause", "Cause", (run) => run.cause],
  ["share", "Probability", (run) => run.p], ["hours", "GPU-hours", (run) => run.hours === null ? -1 : run.hours], ["user", "User", (run) => run.user],
  ["model", "Model", (run) => run.model], ["host", "Host", (run) => run.host], ["ended", "Ended (UTC)", (run) => run.ended], ["restart", "Restart", (run) => run.restart],
];
const COMMON = (() => {
  const first = data.runs.length > 1 ? data.runs[0].location : "";
  let end = first.lastIndexOf("/") + 1;
  for (const run of data.runs) while (end && !run.location.startsWith(first.slice(0, end))) end = first.lastIndexOf("/", end - 2) + 1;
  return first.slice(0, end);
})();
for (const name of ["user", "model", "host", "ended"]) {
  if (data.runs.every((run) => !run[name])) COLUMNS.splice(COLUMNS.findIndex(([column]) => column === name), 1);
}
const NUMBERS = new Set(["share", "hours"]);
let order = null, down = false, limit = PAGE;
const opened = new Set();
for (const run of data.runs) {
  run.haystack = [run.location, run.status, run.cause, run.title, run.user, run.model, run.host, run.summary, run.words, run.fingerprint, ...run.evidence.map((line) => line.text)].join("\n").toLowerCase();
}

function chosen() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = data.runs.filter((run) => (!$("status").value || run.status === $("status").value) && (!$("cause").value || run.cause === $("cause").value) && words.every((word) => run.haystack.includes(word)));
  if (order) {
    const value = COLUMNS.find(([name]) => name === order)[2];
    rows.sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
  }
  return rows;
}
function detail(run) {
  const row = element("tr", null, { class: "detail" });
  const cell = element("td", null, { colspan: COLUMNS.length });
  if (run.title) cell.append(element("div", run.title + (run.share ? ` (${run.share})` : ""), { class: "bad" }));
  cell.append(element("div", run.summary));
  for (const line of run.evidence) {
    cell.append(element("div", `${line.bits > 0 ? "+" : ""}${line.bits} ${line.because}`));
    if (line.place) cell.append(element("pre", line.place + (line.text ? "\n" + line.text : "")));
  }
  if (run.words) cell.append(element("div", "last words", { class: "soft" }), element("pre", run.words));
  if (run.fixes.length) {
    const fixes = element("ul");
    run.fixes.forEach((fix) => fixes.append(element("li", "fix: " + fix)));
    cell.append(fixes);
  }
  if (run.restart) cell.append(element("div", `restart: ${run.restart}${run.resume ? ", from " + run.resume : ""} (${run.because})`));
  if (run.baseline) cell.append(element("div", `compared with ${run.baseline}`));
  if (run.report) {
    const report = element("div");
    report.append(element("a", "report with curves", { href: run.report }));
    cell.append(report);
  }
  cell.append(element("pre", `analyzer diagnose '${run.location.replaceAll("'", "'\\''")}'`));
  row.append(cell);
  return row;
}
function show() {
  const rows = chosen();
  const body = document.querySelector("#runs tbody");
  body.replaceChildren();
  for (const run of rows.slice(0, limit)) {
    const line = element("tr", null, { class: opened.has(run.key) ? "run open" : "run", id: "run-" + run.key });
    for (const [name] of COLUMNS) {
      let text = run[name];
      if (name === "hours") text = run.hours === null ? "unknown" : run.hours < 0.01 ? run.hours.toExponential(1) : run.hours.toFixed(2);
      const cell = element("td", name === "location" ? null : text, NUMBERS.has(name) ? { class: "number" } : name === "status" ? { class: "status-" + run.status.replace(" ", "-") } : {});
      if (name === "location") cell.append(element("a", run.location.slice(COMMON.length), { href: "#run-" + run.key }));
      line.append(cell);
    }
    line.addEventListener("click", (event) => { event.preventDefault(); toggle(run.key); });
    body.append(line);
    if (opened.has(run.key)) body.append(detail(run));
  }
  $("count").textContent = `${rows.length} of ${data.runs.length} runs`;
  $("more").hidden = rows.length <= limit;
  $("left").textContent = data.total > data.runs.length ? `The page holds ${data.runs.length} of ${data.total} runs, the worst first; the dataset holds all.` : "";
  document.querySelectorAll("#runs th").forEach((head, at) => head.setAttribute("aria-sort", COLUMNS[at][0] === order ? (down ? "descending" : "ascending") : "none"));
}
function toggle(key) {
  if (!opened.delete(key)) opened.add(key);
  history.replaceState(null, "", opened.has(key) ? "#run-" + key : "#runs");
  show();
}
function named() {
  const key = location.hash.startsWith("#run-") ? location.hash.slice(5) : "";
  if (!data.runs.some((run) => run.key === key)) return;
  for (const id of ["search", "status", "cause"]) $(id).value = "";
  opened.add(key);
  limit = Math.max(limit, chosen().findIndex((run) => run.key === key) + 1);
  show();
  $("run-" + key).scrollIntoView();
}
addEventListener("hashchange", named);

const head = document.querySelector("#runs thead tr");
for (const [name, title] of COLUMNS) {
  const cell = element("th", null, NUMBERS.has(name) ? { class: "number" } : {});
  const button = element("button", title, { type: "button", id: "sort-" + name });
  button.addEventListener("click", () => { down = order === name ? !down : NUMBERS.has(name); order = name; show(); });
  cell.append(button);
  head.append(cell);
}
function options(select, values, all) {
  select.append(element("option", all, { value: "" }));
  values.forEach((value) => select.append(element("option", value, { value })));
}
options($("status"), [...new Set(data.runs.map((run) => run.status))], "all");
options($("cause"), [...new Set(data.runs.map((run) => run.cause).filter(Boolean))].sort(), "all");
$("search").addEventListener("input", () => { limit = PAGE; show(); });
$("status").addEventListener("change", show);
$("cause").addEventListener("change", show);
$("clear").addEventListener("click", () => { $("search").value = ""; $("status").value = ""; $("cause").value = ""; show(); });
$("more").addEventListener("click", () => { limit += PAGE * 5; show(); });

$("head").textContent = (COMMON ? `${COMMON} ` : "") + `${data.total} runs: ` + Object.entries(data.statuses).map(([name, count]) => `${count} ${name}`).join(", ") + `. GPU-hours of failed runs: ${data.lost}.`;
bars("Causes by runs", data.causes.slice(0, 12), (cause) => cause.runs, (cause) => `${cause.runs} (${cause.failed} failed)`);
const costly = data.causes.filter((cause) => cause.hours > 0).sort((a, b) => b.hours - a.hours).slice(0, 12);
bars("GPU-hours of failed runs", costly, (cause) => cause.hours, (cause) => cause.shown);
overTime();
matrix();
list("Hosts in several failures", data.nodes.map((node) => { const row = element("li"); const name = linked(node.host, node.host); if (node.bad) name.className = "bad"; row.append(name, ": " + node.verdict); return row; }));
list("Runs that share one root failure", data.groups.map((group) => { const row = element("li"); row.append(linked(`${group.runs} runs`, group.fingerprint), `: ${group.cause}${group.users.length > 1 ? ", " + group.users.length + " users" : ""}`); if (group.text) row.append(element("pre", group.text)); return row; }));
list("No rule explains", data.shapes.map((shape) => { const row = element("li"); row.append(linked(shape.runs === 1 ? "1 run" : `${shape.runs} runs`, shape.location), `, ${shape.shape}`, element("pre", shape.example)); return row; }));
list("Restart", Object.entries(data.restarts).sort((a, b) => b[1] - a[1]).map(([decision, count]) => element("li", `${decision}: ${count}`)));
show();
named();
