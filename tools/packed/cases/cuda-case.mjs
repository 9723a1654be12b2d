// backend-cuda without a driver, then on the driver library of QUERN_CUDA_LIBRARY.
export async function cudaCase(createBackend) {
  const library = process.env.QUERN_CUDA_LIBRARY;
  process.env.QUERN_CUDA_LIBRARY = 'libnot-there.so';
  const { code, message } = await createBackend().catch((error) => error);
  console.log(`${code}: ${message}`);
  process.env.QUERN_CUDA_LIBRARY = library;
  const backend = await createBackend();
  const step = backend.step();
  const sum = backend.add(step.input(Float32Array.of(1, 2), [2]), step.input(Float32Array.of(3, 4), [2]));
  console.log(`${backend.name}: ${await step.read(sum)}`);
  step.dispose();
  backend.dispose();
}
