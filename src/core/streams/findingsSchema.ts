import { Type } from 'typebox'
import { FINDING_CODES } from './findings.ts'

const FindingSchema = Type.Object({
  code: Type.Enum([...FINDING_CODES]),
  since: Type.String({ format: 'date-time' }),
  value: Type.Number({ description: 'In the unit of the figure of `source` that it is about.' }),
  threshold: Type.Number({ description: 'A value beyond it is found.' }),
  shown: Type.String({ description: 'The value as people read it.' }),
  text: Type.String({ description: 'What is wrong, and what viewers see of it.' }),
  advice: Type.String({ description: 'What to set, in which encoder.' }),
  docs: Type.String({ description: 'The page about it, from the root of the documents.' }),
})

export const FindingsSchema = Type.Array(FindingSchema, {
  description: 'What is wrong with the media of the publisher, the worst first.',
})
