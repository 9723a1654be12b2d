// The addon of backend-cuda loads, lists no device, and refuses a backend with the reason; so in a worker, which ends. Prints the reason. On
// a machine with GPUs it prints how many there are.
//   node backend-cuda.cjs <dist/index.cjs of backend-cuda>      QUERN_CUDA_BINARY: the addon
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const file = isMainThread ? process.argv[2] : workerData;

async function refusal() {
  const { createBackend, devices } = require(file);
  const found = await devices();
  if (found.length !== 0) return `${found.length} devices`;
  return createBackend().then(
    () => 'a backend was made',
    (error) => `${error.code}: ${error.message}`,
  );
}

async function main() {
  const here = await refusal();
  const worker = new Worker(__filename, { workerData: file });
  const there = await new Promise((resolve) => worker.on('message', resolve));
  const ended = await new Promise((resolve) => worker.on('exit', resolve));
  const refused =
    /^UNSUPPORTED: no NVIDIA driver: (nvcuda\.dll: .+ \(error \d+\); install NVIDIA's driver|libcuda\.so\.1: .+; install one)/;
  const wanted = here.endsWith(' devices') || refused.test(here);
  const right = wanted && there === here && ended === 0;
  console.log(right ? here : `here: ${here}\nin a worker, which ended with ${ended}: ${there}`);
  process.exitCode = right ? 0 : 1;
}

if (isMainThread) main();
else refusal().then((message) => parentPort.postMessage(message));
