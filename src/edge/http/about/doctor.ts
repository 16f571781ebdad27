import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import type { Failure } from '../../../core/errors.ts'
import { CHECKS, type Examination } from '../../../core/examination.ts'
import { type DoctorCode, SENTENCES } from '../../../core/examinationSentences.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'
import { operatorsOnly } from './operators.ts'

/** An examination of this node, and when it ended. */
export interface DatedExamination extends Examination {
  readonly atMs: number
}

/** Examines this node. */
export interface Doctor {
  /** One examination at a time: if one runs, this is its answer. */
  examine(): Promise<Result<DatedExamination, Failure>>
  /** Null: there was none since the start. */
  readonly latest: DatedExamination | null
}

/** The checks of `sluice doctor`, in the process that serves. */
export function doctorRoutes(app: FastifyInstance, ctx: Context, doctor: Doctor): void {
  const path = '/api/server/doctor'
  const preHandler = operatorsOnly(ctx, 'sluice doctor')
  const toRecord = ({ atMs, ...rest }: DatedExamination): Static<typeof ExaminationRecord> => ({
    node: ctx.sessions.node,
    at: new Date(atMs).toISOString(),
    ok: rest.ok,
    checks: [...rest.checks],
  })
  app.post(
    path,
    {
      ...document('server', 'Check the node that answers, as `sluice doctor` does; takes some seconds', {
        operationId: 'examineServer',
        data: ExaminationRecord,
      }),
      preHandler,
    },
    async (_request, reply) => {
      const done = await doctor.examine()
      return sendResult(reply, done.ok ? ok(toRecord(done.value)) : done)
    },
  )
  app.get(
    path,
    {
      ...document('server', 'What the latest check of the node that answers found', {
        operationId: 'readExamination',
        data: Type.Union([ExaminationRecord, Type.Null()], { description: 'Null: no check since its start.' }),
      }),
      preHandler,
    },
    (_request, reply) => sendResult(reply, ok(doctor.latest && toRecord(doctor.latest))),
  )
}

const CODES = Object.keys(SENTENCES) as DoctorCode[]

const ExaminationRecord = Type.Object({
  node: Type.String({ description: 'The id of the node that answers.' }),
  at: Type.String({ format: 'date-time' }),
  ok: Type.Boolean({ description: 'No check has failed.' }),
  checks: Type.Array(
    Type.Object({
      check: Type.Enum([...CHECKS]),
      outcome: Type.Enum(['ok', 'warn', 'FAIL']),
      code: Type.Enum(CODES, { description: 'Of the sentence; `text`: it has none.' }),
      values: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
        description: 'What stands in the sentence.',
      }),
      detail: Type.String({ description: 'The sentence: what was found and, unless it is ok, what to do.' }),
    }),
  ),
})
