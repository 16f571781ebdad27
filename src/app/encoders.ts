import { availableParallelism } from 'node:os'
import type { App } from './app.ts'
import { ProcessorLoad } from '../base/processors.ts'
import { EncodingLoad } from '../services/encodingLoad.ts'

/** What this machine can encode, for channels and for the renditions of feeds. */
export interface Encoders {
  readonly load: EncodingLoad
  readonly processors: ProcessorLoad
}

export function openEncoders(app: App): Encoders {
  const processors = new ProcessorLoad()
  const stepsDown = () => app.config.channels.stepDownOnOverload
  return { processors, load: new EncodingLoad({ cores: availableParallelism(), processors, stepsDown }) }
}
