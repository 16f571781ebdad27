import { builtProgram } from './program.ts'

/** Builds the program once before the workers want it, if a source has changed. */
export default async function setup(): Promise<void> {
  await builtProgram()
}
