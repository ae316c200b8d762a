// The tabs of narrow windows, and the dialog that confirms an action. Narrow windows show one panel, medium ones the
// phone and one panel, and wide ones all panels. The style has the same limits.

import { byID } from "./dom.js";

const names = ["phone", "request", "sequence", "keychains"];
const narrow = matchMedia("(max-width: 43.74rem)");
const wide = matchMedia("(min-width: 75rem)");

export function isNarrow() {
  return narrow.matches;
}

export function isWide() {
  return wide.matches;
}

/** The tabs of the current width: in a medium window, the phone is always visible. */
function tabs() {
  return names.filter((name) => narrow.matches || name !== "phone").map((name) => byID(`tab-${name}`));
}

export function showTab(name) {
  const shown = name === "phone" && !narrow.matches ? "request" : name;
  byID("main").dataset.tab = shown;
  for (const each of names) {
    const tab = byID(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === shown));
    tab.tabIndex = each === shown ? 0 : -1;
    const panel = byID(`panel-${each}`);
    const isTabbed = !wide.matches && tabs().includes(tab);
    panel.setAttribute("role", isTabbed ? "tabpanel" : "region");
  }
}

/** Shows a panel as the user asked for it; in a wide window, scrolls to it. */
export function goTo(name) {
  const isMoving = byID("main").dataset.tab !== name;
  showTab(name);
  if (!wide.matches && isMoving) scrollTo(0, 0);
  else if (wide.matches) byID(`panel-${name}`).scrollIntoView({ block: "nearest" });
}

function walkTabs(event) {
  const all = tabs();
  const index = all.indexOf(document.activeElement);
  const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: all.length - 1 }[event.key];
  if (target === undefined || index < 0) return;
  event.preventDefault();
  const tab = all[(target + all.length) % all.length];
  tab.focus();
  goTo(tab.dataset.tab);
}

/** Connects the tabs. `changed` is called when the window gets another layout. */
export function bindLayout(changed) {
  byID("tabs").addEventListener("keydown", walkTabs);
  for (const name of names) byID(`tab-${name}`).addEventListener("click", () => goTo(name));
  for (const query of [narrow, wide]) {
    query.addEventListener("change", () => {
      showTab(byID("main").dataset.tab);
      changed();
    });
  }
  showTab("phone");
}

/** Asks whether to do what cannot be undone; returns whether the user confirmed it. */
export function confirmed(title, explanation, words) {
  const dialog = byID("confirm");
  byID("confirm-title").textContent = title;
  byID("confirm-words").textContent = explanation;
  byID("confirm-yes").textContent = words;
  dialog.returnValue = "";
  dialog.showModal();
  byID("confirm-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
