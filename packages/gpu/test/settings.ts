/** Of jest.environment.mjs. */
declare function setNativeEnvironment(name: string, value: string | undefined): void;

/** Runs `act` with settings of the emulated device (packages/gpu/native/emulated). */
export async function withSettings(
  settings: Readonly<Record<string, string>>,
  act: () => Promise<void>,
): Promise<void> {
  for (const [name, value] of Object.entries(settings)) setNativeEnvironment(name, value);
  try {
    await act();
  } finally {
    for (const name of Object.keys(settings)) setNativeEnvironment(name, undefined);
  }
}
