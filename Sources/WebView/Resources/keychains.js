// The keychains of the provider and the consumer, as cards.

import { byID, capitalized, day, identities, make, shortSerial } from "./dom.js";
import { act, post, state } from "./server.js";
import { confirmed } from "./layout.js";

/** The number of cards of each side that are shown at first. */
const shownCards = 8;

const shownSides = {};
const showsAll = {};

function card(identity, isOnePerson, now) {
  const isExpired = Date.parse(identity.notAfter) < now;
  return make("li", { class: "credential", "data-type": identity.type },
    make("span", { class: "name" }, `${capitalized(identity.type)} · ${day(identity.notBefore)}`),
    isExpired ? make("span", { class: "tag" }, "expired") : null,
    make("span", { class: "sub", title: `Serial number ${identity.serial}` },
      [isOnePerson ? "" : identity.person ?? identity.subject ?? "", `expires ${day(identity.notAfter)}`, shortSerial(identity.serial)].filter(Boolean).join(" · ")));
}

/** Shows one side, if it has changed. */
export function showSide(id, name, side) {
  const key = JSON.stringify([side, showsAll[id]]);
  if (shownSides[id] === key) return;
  shownSides[id] = key;
  byID(`${id}-title`).textContent = `${name}: ${identities(side.count)}`;
  const more = byID(`${id}-more`);
  more.hidden = true;
  if (side.failure) {
    byID(`${id}-person`).textContent = "";
    byID(id).replaceChildren(make("li", { class: "failure" }, side.failure.message));
    return;
  }
  const persons = new Set(side.identities.map((identity) => identity.person ?? identity.subject ?? ""));
  const isOnePerson = persons.size === 1;
  byID(`${id}-person`).textContent = side.count === 0 ? "The keychain contains no identities." : isOnePerson ? [...persons][0] : "";
  const now = Date.now();
  const shown = showsAll[id] ? side.identities : side.identities.slice(0, shownCards);
  byID(id).replaceChildren(...shown.map((identity) => card(identity, isOnePerson, now)));
  more.hidden = side.count <= shownCards;
  more.textContent = showsAll[id] ? "Show fewer" : `Show all ${side.count}`;
  if (showsAll[id] && side.count > side.identities.length) {
    byID(id).append(make("li", { class: "sub" }, `The page shows the first ${side.identities.length} of ${side.count}.`));
  }
}

export function bindKeychains() {
  for (const [id, name] of [["published", "Provider"], ["held", "Consumer"]]) {
    byID(`${id}-more`).addEventListener("click", () => {
      showsAll[id] = !showsAll[id];
      showSide(id, name, state.phone[id]);
    });
  }
  byID("clear-consumer").addEventListener("click", () => act(async () => {
    const isConfirmed = await confirmed(
      "Clear the consumer’s keychain?", `This deletes ${identities(state.phone.held.count)}. The provider keeps its own.`, "Clear");
    if (isConfirmed) await post("/api/consumer/clear");
  }));
}
