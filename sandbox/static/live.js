// Keeps a page up to date without reloading it, sends its forms in place, and reads calls aloud. Everything works without.
"use strict";

const spoken = new Set();
let etag = "";
let busy = false;

function isMuted() {
  return localStorage.getItem("sandbox-muted") === "yes";
}

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  }
}

function tick() {
  for (const element of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, Math.round((Date.now() - new Date(element.dataset.since)) / 1000));
    element.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}

function speak() {
  if (!("speechSynthesis" in window)) return;
  const lines = document.querySelectorAll("[data-region=call] [data-say]");
  if (!lines.length) speechSynthesis.cancel();
  for (const line of lines) {
    if (line.classList.contains("is-cut") && speechSynthesis.speaking && !spoken.has(`${line.dataset.say} cut`)) {
      spoken.add(`${line.dataset.say} cut`);
      speechSynthesis.cancel();
    }
    if (spoken.has(line.dataset.say)) continue;
    spoken.add(line.dataset.say);
    if (!isMuted()) speechSynthesis.speak(new SpeechSynthesisUtterance(line.textContent));
  }
}

function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  for (const region of document.querySelectorAll("[data-region]")) {
    const fresh = next.querySelector(`[data-region="${region.dataset.region}"]`);
    if (!fresh) continue;
    localTimes(fresh);
    if (fresh.innerHTML === region.dataset.shown) continue;
    const scrollers = () => [region, ...region.querySelectorAll("[data-scroll]")].filter((e) => e.matches("[data-scroll]"));
    const atEnd = scrollers().every((e) => e.scrollHeight - e.scrollTop - e.clientHeight < 60);
    const focused = document.activeElement && region.contains(document.activeElement) ? document.activeElement.value : null;
    region.dataset.shown = fresh.innerHTML;
    region.innerHTML = fresh.innerHTML;
    if (focused) region.querySelector(`button[value="${CSS.escape(focused)}"]`)?.focus();
    if (atEnd) for (const e of scrollers()) e.scrollTop = e.scrollHeight;
  }
  tick();
  speak();
}

async function refresh() {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const response = await fetch(location.href, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
    if (response.ok) {
      etag = response.headers.get("ETag") || "";
      show(await response.text());
    }
    document.body.classList.remove("is-away");
  } catch {
    document.body.classList.add("is-away");
  } finally {
    busy = false;
  }
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-act]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  if (form.matches("[data-clear]")) form.reset();
  await fetch(form.action, { method: "POST", body }).catch(() => {});
  etag = "";
  await refresh();
});

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = document.querySelector(`.keypad button[value="${CSS.escape(event.key)}"]`);
  if (key) key.click();
});

const sound = document.querySelector("[data-sound]");
if (sound && "speechSynthesis" in window && document.querySelector("[data-region=call]")) {
  const label = () => {
    sound.textContent = isMuted() ? "Sound off" : "Sound on";
    sound.setAttribute("aria-pressed", String(!isMuted()));
  };
  sound.hidden = false;
  label();
  sound.addEventListener("click", () => {
    localStorage.setItem("sandbox-muted", isMuted() ? "no" : "yes");
    if (isMuted()) speechSynthesis.cancel();
    label();
  });
}

localTimes(document);
for (const region of document.querySelectorAll("[data-region]")) region.dataset.shown = region.innerHTML;
for (const e of document.querySelectorAll("[data-scroll]")) e.scrollTop = e.scrollHeight;
// What was said before this page was opened is not repeated.
for (const line of document.querySelectorAll("[data-say]")) spoken.add(line.dataset.say);
tick();
setInterval(refresh, 1000);
setInterval(tick, 500);
document.addEventListener("visibilitychange", refresh);
