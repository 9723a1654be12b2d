// The microphone as a WAV file: the server needs no decoder for it.
const rate = 16_000;

/** Records until the function given to `onStart` is called. Rejects where the microphone is refused. */
export async function recordWav(onStart) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const recorder = new MediaRecorder(stream);
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const ended = new Promise((resolve) => {
    recorder.onstop = resolve;
  });
  recorder.start();
  onStart(() => recorder.stop());
  await ended;
  for (const track of stream.getTracks()) track.stop();
  const context = new OfflineAudioContext(1, 1, rate);
  const sound = await context.decodeAudioData(await new Blob(parts).arrayBuffer()); // resampled to `rate`
  return new File([wavOf(sound.getChannelData(0))], 'recording.wav', { type: 'audio/wav' });
}

/** 16-bit samples of one channel, with the header of a WAV file. */
function wavOf(samples) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, value) => [...value].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, 'RIFF');
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, i) => view.setInt16(44 + 2 * i, 32767 * Math.max(-1, Math.min(1, sample)), true));
  return view.buffer;
}
