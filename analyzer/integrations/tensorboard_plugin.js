// The tab "Diagnosis": a row for each run, filled one after the other; a click opens the report below.
const STYLE = `
  body { font: 14px/1.45 Roboto, system-ui, sans-serif; margin: 16px; color: #212121; background: #fff; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid #ddd; }
  button { font: inherit; color: #0b57d0; background: none; border: 0; padding: 0; text-align: left; cursor: pointer; text-decoration: underline; }
  .failed, .unreadable { color: #b3261e; font-weight: 600; }
  .degraded, .interrupted { color: #8a5300; font-weight: 600; }
  .healthy { color: #146c2e; font-weight: 600; }
  iframe { width: 100%; height: 85vh; border: 1px solid #ddd; margin-top: 16px; }
  @media (prefers-color-scheme: dark) { body { color: #e3e3e3; background: #1f1f1f; } button { color: #a8c7fa; }
    .failed, .unreadable { color: #f2b8b5; } .degraded, .interrupted { color: #ffcc80; } .healthy { color: #7fd893; } }
`;

function add(parent, name, text = "", className = "") {
  const element = document.createElement(name);
  element.textContent = text; // never as HTML: names and lines come from logs
  if (className) element.className = className;
  parent.append(element);
  return element;
}

export async function render() {
  add(document.head, "style", STYLE);
  const state = add(document.body, "p", "looking for runs");
  const answer = await fetch("./runs");
  if (!answer.ok) {
    state.textContent = `the runs cannot be listed (${answer.status})`;
    return;
  }
  const runs = await answer.json();
  const table = add(document.body, "table");
  const head = add(add(table, "thead"), "tr");
  for (const title of ["run", "status", "what happened", "cause", "first fix"]) add(head, "th", title);
  const body = add(table, "tbody");
  const frame = document.createElement("iframe");
  frame.title = "report";
  const rows = runs.map((run) => {
    const row = add(body, "tr");
    const open = add(add(row, "td"), "button", run.name);
    open.onclick = () => {
      frame.src = `./report?run=${encodeURIComponent(run.key)}`;
      document.body.append(frame);
      frame.scrollIntoView({ behavior: "smooth" });
    };
    return { run, cells: [0, 1, 2, 3].map(() => add(row, "td")) };
  });
  for (const [number, { run, cells }] of rows.entries()) {
    state.textContent = `reading run ${number + 1} of ${rows.length}`;
    const found = await (await fetch(`./diagnosis?run=${encodeURIComponent(run.key)}`)).json();
    cells[0].className = found.status;
    cells[0].textContent = found.status;
    cells[1].textContent = found.summary;
    const odds = found.probability === null ? "" : ` (${Math.round(100 * found.probability)}%)`;
    cells[2].textContent = found.cause + odds;
    cells[3].textContent = found.fix;
  }
  state.textContent = rows.length ? `${rows.length} runs; open a name for its report` : "no run was found below --logdir";
}
