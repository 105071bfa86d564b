"use strict";
// Hover, zoom, keyboard and copy. The page is whole without it: curves, marks and tables are drawn already.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const full = plots.map((_, i) => data[i].domain);
  let shown = null; // zoomed domain of the shared axis; null for all
  const domain = i => (data[i].shared && shown) || full[i];
  const place = (i, x) => { const [low, high] = domain(i); return (x - low) / (high - low || 1); };
  const number = v => typeof v !== "number" ? v : Number.isInteger(v) && Math.abs(v) < 1e9 ? String(v) : v.toPrecision(4);

  function ticks(low, high) {
    const span = high - low || 1, rough = span / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
    const whole = Math.max(step, 1), found = [];
    for (let v = Math.ceil(low / whole) * whole; v <= high + 1e-9; v += whole) found.push(v);
    return found;
  }

  function draw() {
    plots.forEach((plot, i) => {
      const [low, high] = domain(i), [from, to] = full[i], all = to - from || 1;
      const svg = plot.querySelector("svg");
      svg.style.overflow = low <= from && high >= to ? "visible" : "hidden"; // whole: dots at the ends are not cut
      svg.setAttribute("viewBox", `${(low - from) / all * 1000} 0 ${(high - low) / all * 1000 || 1} 1000`);
      plot.querySelectorAll(".tx").forEach(t => t.remove());
      for (const value of ticks(low, high)) {
        const tick = document.createElement("span");
        tick.className = "tick tx";
        tick.style.left = `${place(i, value) * 100}%`;
        tick.textContent = String(value);
        plot.append(tick);
      }
      const on = plot.querySelector(".on");
      if (on) {
        const at = place(i, Number(on.dataset.x));
        on.style.left = `${at * 100}%`;
        on.classList.toggle("left", at > 0.6);
        on.hidden = at < 0 || at > 1;
      }
    });
    document.querySelectorAll(".reset").forEach(b => { b.hidden = !shown; });
  }

  function nearest(xs, x) {
    let low = 0, high = xs.length - 1;
    while (low < high) { const mid = (low + high) >> 1; if (xs[mid] < x) low = mid + 1; else high = mid; }
    return low > 0 && x - xs[low - 1] <= xs[low] - x ? low - 1 : low;
  }

  function point(x, shared) {
    plots.forEach((plot, i) => {
      const cursor = plot.querySelector(".cursor"), tip = plot.querySelector(".tip");
      const at = place(i, x);
      if (x === null || (shared !== undefined && !(data[i].shared && shared.all) && shared.only !== i) || at < 0 || at > 1) {
        cursor.style.display = tip.style.display = "none";
        return;
      }
      const rows = [], exact = data[i].lines.map(line => { const k = nearest(line.x, x); return [line, k]; }).filter(([line]) => line.x.length);
      if (!exact.length) return;
      rows.push(`${data[i].word} ${number(exact[0][0].x[exact[0][1]])}`);
      for (const [line, k] of exact) rows.push(`${line.label}: ${number(line.y[k])}${line.place && line.line[k] ? `  (${line.place.split("/").pop()}:${line.line[k]})` : ""}`);
      tip.replaceChildren(...rows.map(text => { const d = document.createElement("div"); d.textContent = text; return d; }));
      cursor.style.display = tip.style.display = "block";
      cursor.style.left = `${at * 100}%`;
      tip.style.left = at < 0.5 ? `calc(${at * 100}% + .5rem)` : "auto";
      tip.style.right = at < 0.5 ? "auto" : `calc(${(1 - at) * 100}% + .5rem)`;
    });
  }

  plots.forEach((plot, i) => {
    const brush = plot.querySelector(".brush");
    let start = null, here = null;
    const at = event => { const box = plot.getBoundingClientRect(); return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)); };
    const value = part => { const [low, high] = domain(i); return low + part * (high - low); };
    const reach = () => ({ all: data[i].shared, only: i });
    plot.addEventListener("pointermove", event => {
      here = value(at(event));
      point(here, reach());
      if (start !== null) {
        const now = at(event);
        brush.style.display = "block";
        brush.style.left = `${Math.min(start, now) * 100}%`;
        brush.style.width = `${Math.abs(now - start) * 100}%`;
      }
    });
    plot.addEventListener("pointerdown", event => { if (data[i].shared && event.pointerType === "mouse" && !event.target.closest("a")) { start = at(event); event.preventDefault(); plot.focus({ preventScroll: true }); } });
    addEventListener("pointerup", event => {
      if (start === null) return;
      const end = at(event), low = value(Math.min(start, end)), high = value(Math.max(start, end));
      brush.style.display = "none";
      if (Math.abs(end - start) > 0.02) { shown = [low, high]; draw(); }
      start = null;
    });
    plot.addEventListener("pointerleave", () => point(null));
    plot.addEventListener("dblclick", () => { shown = null; draw(); });
    plot.addEventListener("blur", () => point(null));
    plot.addEventListener("keydown", event => {
      const line = data[i].lines[0], [low, high] = domain(i);
      let k = nearest(line.x, here === null ? low : here);
      if (event.key === "ArrowRight") k = Math.min(k + (here === null ? 0 : 1), line.x.length - 1);
      else if (event.key === "ArrowLeft") k = Math.max(k - 1, 0);
      else if ((event.key === "+" || event.key === "-") && data[i].shared) {
        const centre = here === null ? (low + high) / 2 : here, half = (high - low) * (event.key === "+" ? 0.25 : 1);
        shown = [Math.max(full[i][0], centre - half), Math.min(full[i][1], centre + half)];
        if (shown[0] <= full[i][0] && shown[1] >= full[i][1]) shown = null;
        draw();
      } else if (event.key === "Escape") { shown = null; draw(); } else return;
      event.preventDefault();
      here = line.x[k];
      point(here, reach());
    });
  });
  document.querySelectorAll(".reset").forEach(b => b.addEventListener("click", () => { shown = null; draw(); }));

  document.querySelectorAll("button.copy").forEach(button => button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("pre").innerText;
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select();
      done = document.execCommand("copy"); area.remove();
    }
    button.textContent = done ? "copied" : "select and copy by hand";
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  }));

  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let up = target.parentElement; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    target.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", reveal);
  const ways = [...document.querySelectorAll("details.ways")].filter(way => !way.open); // paper has nothing to open
  addEventListener("beforeprint", () => { shown = null; draw(); ways.forEach(way => { way.open = true; }); });
  addEventListener("afterprint", () => ways.forEach(way => { way.open = false; }));
  draw();
  reveal();
})();
