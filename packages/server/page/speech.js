import { eventsOf, postForm, showingProblems } from './api.js';
import { recordWav } from './record.js';

const transcript = document.getElementById('transcript');
const sound = document.getElementById('sound');
const record = document.getElementById('record');
const model = document.getElementById('speech-model');

async function transcribe(file) {
  const form = new FormData();
  form.append('file', file, file.name ?? 'sound.wav');
  if (model.value) form.append('model', model.value);
  form.append('stream', 'true');
  transcript.textContent = '';
  for await (const event of eventsOf(await postForm('v1/audio/transcriptions', form))) {
    if (event.error) throw new Error(event.error.message);
    if (event.type === 'transcript.text.delta') transcript.textContent += event.delta;
  }
}

document.getElementById('speech').addEventListener('submit', (event) => {
  event.preventDefault();
  void showingProblems(async () => {
    if (!sound.files[0]) throw new Error('choose a file, or record');
    await transcribe(sound.files[0]);
  });
});

/** Ends the recording that runs. */
let stop;
/** From the question for the microphone to the end of the transcript: no other recording starts. */
let isBusy = false;

function showRecording(isOn) {
  record.setAttribute('aria-pressed', String(isOn));
  record.textContent = isOn ? 'Stop recording' : 'Record';
}

async function recordAndTranscribe() {
  isBusy = true;
  try {
    const file = await recordWav((end) => {
      stop = end;
      showRecording(true);
    });
    await transcribe(file);
  } finally {
    isBusy = false;
  }
}

function endRecording() {
  stop();
  stop = undefined;
  showRecording(false);
}

record.addEventListener('click', () => {
  if (stop) endRecording();
  else if (!isBusy) void showingProblems(recordAndTranscribe);
});
