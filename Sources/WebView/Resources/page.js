// The page of `keyshare-device web`: connects its parts, and follows the state and the events of the server.

import { byID, count } from "./dom.js";
import { get, state, tell } from "./server.js";
import { bindLayout, goTo } from "./layout.js";
import { bindPicker, loadPicker } from "./picker.js";
import { bindRequest, readAddress, showRequest, writeAddress } from "./request.js";
import { bindPhone, fillChoices, showPhone } from "./phone.js";
import { bindKeychains } from "./keychains.js";
import { bindAndroid, showPlatform } from "./android.js";
import { bindSequence, drawSequence, showRecording, takeEvent } from "./sequence.js";

let isLoading = false;
let mustLoad = false;
let generation = null;

/** Loads the state, once for several changes in a row. */
async function loadState() {
  if (isLoading) {
    mustLoad = true;
    return;
  }
  isLoading = true;
  try {
    do {
      mustLoad = false;
      const wasServing = state.phone?.provider.serving;
      state.phone = await get("/api/state");
      showPhone();
      if (state.phone.generation !== generation || wasServing !== state.phone.provider.serving) {
        generation = state.phone.generation;
        await loadPicker(true);
      }
    } while (mustLoad);
  } catch (error) {
    tell(error);
  } finally {
    isLoading = false;
  }
}

function listen() {
  const source = new EventSource("/api/events");
  source.addEventListener("message", (message) => takeEvent(JSON.parse(message.data)));
  source.addEventListener("state", () => loadState());
  source.addEventListener("error", () => {
    byID("summary").textContent = "The connection to keyshare-device web is lost; retrying…";
  });
  source.addEventListener("open", () => loadState());
}

async function replay() {
  const recording = await get("/api/recording");
  byID("main").classList.add("replay");
  byID("summary").textContent = `A recording of ${count(recording.events.length, "event", "events")}; no device is attached.`;
  showRecording(recording.events);
}

/** Shows the parts of the chosen phone with the current state. */
function showParts() {
  showPlatform();
  if (state.phone) showPhone();
  drawSequence();
}

function choosePhone(phone) {
  state.platform = phone;
  writeAddress(true);
  showParts();
}

async function begin() {
  bindSequence();
  state.session = await get("/api/session");
  if (state.session.isReplay) return replay();
  readAddress();
  showPlatform();
  if (location.hash.length < 2) state.request.types = state.session.types["2025"].presets[0].types;
  for (const part of document.querySelectorAll("[data-live]")) part.hidden = false;
  bindLayout(drawSequence);
  fillChoices();
  bindPhone();
  bindPicker();
  bindRequest(() => goTo("phone"));
  bindKeychains();
  bindAndroid();
  for (const radio of document.querySelectorAll("input[name=phone]")) radio.addEventListener("change", () => choosePhone(radio.value));
  byID("change-request").addEventListener("click", () => goTo("request"));
  addEventListener("popstate", () => {
    readAddress();
    showParts();
    showRequest();
    loadPicker(true).catch(tell);
  });
  showRequest();
  writeAddress(false);
  drawSequence();
  listen();
}

begin().catch(tell);
