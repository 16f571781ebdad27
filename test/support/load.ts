import { EncodingLoad } from '../../src/services/encodingLoad.ts'

/** The load of a machine with room for everything. */
export const freeLoad = (): EncodingLoad =>
  new EncodingLoad({ cores: 64, processors: { idle: null }, stepsDown: () => false })
