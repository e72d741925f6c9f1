// Live updates. Without this script every page reads the same; with it, the parts
// marked data-live-part are fetched again when something they show has changed.
(() => {
  "use strict";
  const kinds = (document.body.dataset.live || "").trim().split(/\s+/).filter(Boolean);
  if (kinds.length === 0 || !("EventSource" in window) || new URLSearchParams(location.search).has("cursor")) return;

  const note = document.querySelector("[data-live-note]");
  const say = (text) => { if (note) note.textContent = text; };
  let waiting = null;
  let busy = false;
  let again = false;

  // Someone who types, selects or has opened something is not disturbed there.
  const inUse = (part) => {
    const selection = document.getSelection();
    return part.contains(document.activeElement) || (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live-part]")) {
        const newer = fresh.querySelector(`[data-live-part="${part.dataset.livePart}"]`);
        if (newer && newer.innerHTML !== part.innerHTML && !inUse(part)) part.replaceWith(document.adoptNode(newer));
      }
      say("Live, updated " + new Date().toLocaleTimeString() + ".");
    } catch {
      say("Not live: the arena does not answer.");
    } finally {
      busy = false;
      if (again) { again = false; changed(); }
    }
  };

  // Many events in a row are one update.
  const changed = () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 400);
  };

  const stream = new EventSource("/api/events");
  stream.onopen = () => say("Live.");
  stream.onerror = () => say("Reconnecting…");
  const listen = {
    message: ["message"], submission: ["submission"], result: ["result"], run: ["run-state", "run-stage"],
  };
  for (const kind of kinds) for (const name of listen[kind] || []) stream.addEventListener(name, changed);
  addEventListener("pagehide", () => stream.close());
})();
