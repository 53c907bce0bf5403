// The pages work without this file. It refreshes them, shows times in the reader's zone, asks before what cannot be
// undone, and counts what is selected. No inline code, no eval, nothing from elsewhere.
(() => {
  "use strict";
  const body = document.body;
  const texts = body.dataset;

  // --- times: the markup holds UTC, the text becomes the reader's own time -----------------------------------------
  const pad = (number, width = 2) => String(number).padStart(width, "0");
  const named = (date, options) => new Intl.DateTimeFormat(document.documentElement.lang || undefined, options).format(date);
  const TOKENS = {
    Y: (d) => pad(d.getFullYear(), 4), m: (d) => pad(d.getMonth() + 1), d: (d) => pad(d.getDate()),
    H: (d) => pad(d.getHours()), M: (d) => pad(d.getMinutes()), S: (d) => pad(d.getSeconds()),
    I: (d) => pad(d.getHours() % 12 || 12), p: (d) => (d.getHours() < 12 ? "AM" : "PM"), y: (d) => pad(d.getFullYear() % 100),
    B: (d) => named(d, { month: "long" }), b: (d) => named(d, { month: "short" }),
    A: (d) => named(d, { weekday: "long" }), a: (d) => named(d, { weekday: "short" }), "%": () => "%",
  };
  const formatTime = (date, pattern) => pattern.replace(/%([A-Za-z%])/g, (all, token) => (TOKENS[token] ? TOKENS[token](date) : all));
  const showTimes = (root) => {
    for (const element of root.querySelectorAll("time[data-cw-time]")) {
      const date = new Date(element.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      if (!element.title) element.title = element.textContent;
      element.textContent = formatTime(date, texts.timeFormat);
    }
  };

  // --- selection: the box in the head selects the page, Shift selects a range --------------------------------------
  let lastBox = null;
  const boxes = (form) => [...(form || document).querySelectorAll('input[name="key"]')];
  const selected = (form) => boxes(form).filter((box) => box.checked);
  const showSelection = () => {
    for (const all of document.querySelectorAll("[data-cw-all]")) {
      const number = selected(all.form).length;
      all.checked = number > 0 && number === boxes(all.form).length;
      all.indeterminate = number > 0 && !all.checked;
      const place = all.form.querySelector("[data-cw-selected]");
      if (place) place.textContent = number ? `${number} ${texts.textSelected}` : place.dataset.cwSelected;
    }
    showState();
  };
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box.type !== "checkbox") return;
    if (box.hasAttribute("data-cw-all")) {
      for (const each of boxes(box.form)) each.checked = box.checked;
    } else if (box.name === "key") {
      const all = boxes(box.form);
      if (event.shiftKey && lastBox && all.includes(lastBox)) {
        const [from, to] = [all.indexOf(lastBox), all.indexOf(box)].sort((a, b) => a - b);
        for (const each of all.slice(from, to + 1)) each.checked = box.checked;
      }
      lastBox = box;
    }
    showSelection();
  });

  // --- questions: the server asks on a page of its own; here a dialog asks at once ---------------------------------
  const ask = (question, label) => new Promise((answer) => {
    const dialog = document.createElement("dialog");
    const form = document.createElement("form");
    form.method = "dialog";
    const text = document.createElement("h2");
    text.id = "cw-question";
    text.textContent = question;
    const row = document.createElement("p");
    row.className = "actions";
    for (const [value, name, tone] of [["yes", label, "danger"], ["no", texts.textCancel, ""]]) {
      const button = document.createElement("button");
      button.value = value;
      button.textContent = name;
      button.className = tone;
      row.append(button);
    }
    form.append(text, row);
    dialog.append(form);
    dialog.setAttribute("aria-labelledby", text.id);
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue === "yes");
    });
    body.append(dialog);
    dialog.showModal();
  });
  const hidden = (form, name, value) => {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = name;
    field.value = value;
    form.append(field);
    return field;
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const button = event.submitter;
    if (form.method === "dialog") return;
    if (form.dataset.sent) {
      event.preventDefault(); // a double click is one click
      return;
    }
    const question = button && button.dataset.confirm;
    if (question) {
      event.preventDefault();
      if (!(await ask(question, button.textContent.trim() || button.getAttribute("aria-label")))) {
        button.focus();
        return;
      }
      hidden(form, "confirmed", "1");
      hidden(form, button.name, button.value);
      form.dataset.sent = "1";
      form.submit();
      return;
    }
    if (form.method === "post") form.dataset.sent = "1";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
    showSelection();
  });
  for (const select of document.querySelectorAll("select[data-cw-auto]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // --- live: the page asks for itself, and only what has changed is touched ----------------------------------------
  const steady = Math.max(1, Number(texts.interval) || 5) * 1000;
  const slowest = 60000;
  let pause = steady;
  let version = "";
  let busy = false;
  let timer = 0;
  const main = () => document.getElementById("cw-main");
  const stale = document.getElementById("cw-stale");
  const toggle = document.querySelector("[data-cw-live-toggle]");
  const held = () => {
    if (selected().length) return true;
    if (document.querySelector("dialog[open], details.menu[open]")) return true;
    const active = document.activeElement;
    if (active && main().contains(active) && active.matches('input:not([type="checkbox"]), select, textarea')) return true;
    const range = window.getSelection();
    return Boolean(range && !range.isCollapsed && main().contains(range.anchorNode));
  };
  const live = () => texts.live === "on" && !main().querySelector("[data-cw-still]");
  function showState() {
    if (!toggle) return;
    const waits = live() && held();
    toggle.title = waits ? `${texts.textLive}: ${texts.textPaused}` : texts.textLive;
    toggle.classList.toggle("warning", waits);
  }
  const OPTIONS = {
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name, node) => {
        // What the reader has opened or ticked is theirs.
        if (name === "open" && node.localName === "details") return false;
        if (name === "checked") return false;
        return true;
      },
    },
  };
  const takeOver = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const ours = fresh.getElementById("cw-main");
    if (!ours) {
      window.location.reload();
      return;
    }
    showTimes(ours);
    Idiomorph.morph(main(), ours, OPTIONS);
    for (const place of ["nav", "#cluster-bar"]) {
      const [old, now] = [document.querySelector(place), fresh.querySelector(place)];
      if (old && now) Idiomorph.morph(old, now, OPTIONS);
    }
    document.title = fresh.title;
    showSelection();
  };
  const failed = () => {
    pause = Math.min(pause * 2, slowest);
    if (stale.hidden) {
      stale.textContent = `${texts.textStale} ${formatTime(new Date(), texts.timeFormat)}.`;
      stale.hidden = false;
    }
    main().dataset.stale = "1";
  };
  const refresh = async () => {
    busy = true;
    try {
      const answer = await fetch(window.location.href, {
        headers: { "X-Cogworker-Live": version || "new" }, credentials: "same-origin", signal: AbortSignal.timeout(10000),
      });
      if (answer.status === 204 || answer.ok) {
        pause = steady;
        stale.hidden = true;
        delete main().dataset.stale;
        if (answer.status === 204) return;
        if (answer.redirected || answer.headers.get("X-Cogworker") !== "1") {
          window.location.reload(); // logged out meanwhile
          return;
        }
        const text = await answer.text();
        version = answer.headers.get("X-Cogworker-Version") || "";
        if (!held()) takeOver(text);
      } else failed();
    } catch {
      failed();
    } finally {
      busy = false;
    }
  };
  const tick = async () => {
    window.clearTimeout(timer);
    showState();
    if (live() && !busy && !document.hidden && navigator.onLine && !held()) await refresh();
    timer = window.setTimeout(tick, pause);
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) tick();
  });

  // --- operations: the next step is taken by itself as long as the page is looked at -----------------------------
  const steps = document.querySelector("form[data-cw-step]");
  const nextStep = () => {
    if (!document.hidden && !steps.dataset.sent) steps.requestSubmit(steps.querySelector('[value="step"]'));
    else window.setTimeout(nextStep, 1000);
  };
  if (steps) window.setTimeout(nextStep, 300);

  showTimes(document);
  showSelection();
  timer = window.setTimeout(tick, steady);
  window.cogworkerFormatTime = formatTime;
})();
