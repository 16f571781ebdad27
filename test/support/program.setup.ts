import { CLIPS } from './clips.ts'
import { builtProgram, removeUnused } from './program.ts'

/** Builds the program once before the workers want it, if a source has changed, and removes clips of earlier runs. */
export default async function setup(): Promise<void> {
  removeUnused(CLIPS)
  await builtProgram()
}
