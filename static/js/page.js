// What plain HTML cannot do: times in the reader's zone, copy buttons, a visible wait, this device's time zone.
(() => {
  const formats = {
    moment: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
    time: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
    day: { day: "numeric", month: "short", year: "numeric" },
  };

  const showTimes = (root) => {
    for (const element of root.querySelectorAll("time[data-local]")) {
      const at = new Date(element.dateTime);
      if (!Number.isNaN(at.getTime())) {
        element.textContent = new Intl.DateTimeFormat(undefined, formats[element.dataset.local]).format(at);
      }
    }
  };

  const offerCopies = (root) => {
    for (const button of root.querySelectorAll("button[data-copy]")) {
      if (!navigator.clipboard) continue;
      button.hidden = false;
      button.addEventListener("click", async () => {
        const words = button.textContent;
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = words; }, 1600);
      });
    }
  };

  // <button data-wait="42">Send a new code</button> can be pressed when the seconds are over.
  const countWaits = (root) => {
    for (const button of root.querySelectorAll("button[data-wait]")) {
      const words = button.textContent.trim();
      const until = Date.now() + Number(button.dataset.wait) * 1000;
      const tick = () => {
        const left = Math.ceil((until - Date.now()) / 1000);
        button.disabled = left > 0;
        button.textContent = left > 0 ? `${words} (${left} s)` : words;
        if (left > 0) setTimeout(tick, 250);
      };
      tick();
    }
  };

  const offerZone = (root) => {
    const button = root.querySelector("button[data-zone-for]");
    if (!button) return;
    const select = document.getElementById(button.dataset.zoneFor);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const known = [...select.options].some((option) => option.value === zone);
    button.hidden = !known || select.value === zone;
    button.textContent = `Use this device's zone (${zone})`;
    button.addEventListener("click", () => { select.value = zone; button.hidden = true; });
  };

  // A live part says its outcome aloud, once, when it changed.
  const tellOutcome = (element) => {
    const said = document.getElementById("said");
    const outcome = element.dataset.outcome;
    if (!said || !outcome || said.textContent === outcome) return;
    said.textContent = outcome;
    document.title = document.title.replace(/^.* · /, `${outcome} · `);
  };

  const dress = (root) => { showTimes(root); offerCopies(root); countWaits(root); offerZone(root); };
  document.addEventListener("htmx:load", (event) => { 
    if (event.target === document.body) return;
    dress(event.target);
    tellOutcome(event.target);
  });
  dress(document);
})();
