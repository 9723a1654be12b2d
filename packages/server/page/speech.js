import { BrokenError, eventsOf, postForm, showingProblems } from './api.js';
import { copyButton } from './copy.js';
import { element } from './elements.js';
import { recordWav } from './record.js';

const [transcript, sound, record, model, cancel, hearing, heard, status] = [
  'transcript',
  'sound',
  'record',
  'speech-model',
  'cancel',
  'hearing',
  'heard',
  'hearing-text',
].map((id) => document.getElementById(id));
const begin = document.getElementById('transcribe');

/** Seconds as 1:02:03 or 2:03. */
function clock(seconds) {
  const [h, m, s] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  const two = (value) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** What is known of a transcription, shown each second. */
class Hearing {
  #from = performance.now();
  #done = 0;
  #total = 0;
  #timer = setInterval(() => this.#show(), 1000);

  constructor() {
    hearing.hidden = false;
    heard.removeAttribute('value'); // the duration is not known yet
    heard.hidden = false;
    this.#show();
  }

  progress({ done, total }) {
    [this.#done, this.#total] = [done, total];
    Object.assign(heard, { max: total, value: done });
    this.#show();
  }

  #show() {
    const of = this.#total > 0 ? `; ${clock(this.#done)} of ${clock(this.#total)} of the sound` : '';
    status.textContent = `Transcribing for ${clock(this.#elapsed)}${of}`;
  }

  get #elapsed() {
    return (performance.now() - this.#from) / 1000;
  }

  /** @param how 'Transcribed', 'Stopped', 'Incomplete' */
  end(how) {
    clearInterval(this.#timer);
    heard.hidden = true;
    const of = this.#total > 0 ? `${clock(how === 'Transcribed' ? this.#total : this.#done)} of sound ` : '';
    status.textContent = `${how}: ${of}in ${clock(this.#elapsed)}.`;
  }
}

function add(text, start) {
  if (!transcript.firstChild)
    transcript.append(
      copyButton(() => textOf(), { ariaLabel: 'Copy the transcript' }),
      element('div', { className: 'segments' }),
    );
  const segment = element('p', { textContent: text, dir: 'auto' });
  if (start !== undefined) segment.dataset.time = clock(start);
  transcript.lastChild.append(segment);
}

const textOf = () =>
  [...transcript.querySelectorAll('p')]
    .map((each) => each.textContent)
    .join('')
    .trim();

async function transcribe(file, signal) {
  const form = new FormData();
  form.append('file', file, file.name ?? 'sound.wav');
  if (model.value) form.append('model', model.value);
  form.append('stream', 'true');
  form.append('include[]', 'progress');
  transcript.replaceChildren();
  const shown = new Hearing();
  let how = 'Incomplete';
  try {
    for await (const event of eventsOf(await postForm('v1/audio/transcriptions', form, signal))) {
      if (event.type === 'transcript.progress') shown.progress(event);
      if (event.type === 'transcript.text.delta') add(event.delta, event.start);
      if (event.type === 'transcript.text.done') how = 'Transcribed';
    }
    if (how === 'Incomplete') throw new BrokenError();
  } catch (error) {
    if (error.name === 'AbortError') how = 'Stopped';
    throw error;
  } finally {
    shown.end(how);
  }
}

let abort;
/** Ends the recording that runs. */
let stopRecording;

function showBusy(isBusy) {
  begin.disabled = isBusy;
  record.disabled = isBusy;
  cancel.disabled = !isBusy;
}

/** One transcription at a time. */
async function working(act) {
  if (abort) return;
  abort = new AbortController();
  showBusy(true);
  await showingProblems(() => act(abort.signal));
  abort = undefined;
  showBusy(false);
}

document.getElementById('speech').addEventListener('submit', (event) => {
  event.preventDefault();
  void working(async (signal) => {
    if (!sound.files[0]) throw new Error('choose a file, or record');
    await transcribe(sound.files[0], signal);
  });
});

cancel.addEventListener('click', () => abort?.abort());

function showRecording(isOn) {
  record.setAttribute('aria-pressed', String(isOn));
  record.textContent = isOn ? 'Stop recording' : 'Record';
  record.disabled = !isOn;
  cancel.disabled = isOn;
}

async function recordAndTranscribe(signal) {
  const file = await recordWav((end) => {
    stopRecording = end;
    showRecording(true);
  });
  await transcribe(file, signal);
}

record.addEventListener('click', () => {
  if (!stopRecording) return void working(recordAndTranscribe);
  stopRecording();
  stopRecording = undefined;
  showRecording(false);
});
