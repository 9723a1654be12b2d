// A line at the lower edge: what happened, and how to take it back.

const box = document.getElementById('notice');
const text = document.getElementById('notice-text');
const undo = document.getElementById('undo');

const shownMs = 15_000;
let timer;
let takeBack;

function hide() {
  clearTimeout(timer);
  box.hidden = true;
  takeBack = undefined;
}

/** Shows a sentence; with `onUndo`, also a button that takes the act back. */
export function tell(sentence, onUndo) {
  hide();
  takeBack = onUndo;
  undo.hidden = !onUndo;
  box.hidden = false;
  text.textContent = sentence;
  if (onUndo) timer = setTimeout(hide, shownMs); // what has no button stays until it is closed
}

undo.addEventListener('click', () => {
  const act = takeBack;
  hide();
  act?.();
});
document.getElementById('dismiss').addEventListener('click', hide);
