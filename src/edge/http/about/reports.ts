import { type TSchema, Type } from 'typebox'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import type { NodeReporting, NodeReports } from '../../../commands/nodes/nodeReports.ts'
import type { NodeReport } from '../../../core/nodes/nodeReports.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'
import { Configuration, type ConfigurationReport, configurationRecord } from './configuration.ts'
import { type Doctor, ExaminationRecord, examinationRecord } from './doctor.ts'
import { operatorsOnly } from './operators.ts'
import { ServerStorage, storageRecord, type StorageSurvey } from './serverStorage.ts'
import { Upkeep, type UpkeepOptions, upkeepRecord } from './upkeep.ts'

export interface ReportSources extends UpkeepOptions {
  readonly configuration: () => ConfigurationReport
  readonly doctor: Doctor
  readonly storage: () => Promise<StorageSurvey>
}

/** What this node says of itself, as the routes answer it. */
export function nodeReports(ctx: Context, sources: ReportSources): NodeReports {
  const { doctor, storage, configuration } = sources
  const node = (): string => ctx.sessions.node
  return {
    examination: async () => {
      const done = await doctor.examine()
      return done.ok ? ok(examinationRecord(node(), done.value)) : done
    },
    findings: async () => ok(doctor.latest && examinationRecord(node(), doctor.latest)),
    storage: async () => ok(storageRecord(node(), await storage())),
    configuration: async () => ok(configurationRecord(node(), configuration())),
    upkeep: async () => ok(upkeepRecord(node(), sources, ctx.clock.now())),
  }
}

interface ReportRoute {
  readonly method: HTTPMethods
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly data: TSchema
}

const ROUTES: Readonly<Record<NodeReport, ReportRoute>> = {
  configuration: {
    method: 'GET',
    path: '/api/server/configuration',
    operationId: 'readConfiguration',
    summary: 'The configuration of a node, with the source of each value',
    data: Configuration,
  },
  examination: {
    method: 'POST',
    path: '/api/server/doctor',
    operationId: 'examineServer',
    summary: 'Check a node, as `sluice doctor` does; takes some seconds',
    data: ExaminationRecord,
  },
  findings: {
    method: 'GET',
    path: '/api/server/doctor',
    operationId: 'readExamination',
    summary: 'What the latest check of a node found',
    data: Type.Union([ExaminationRecord, Type.Null()], { description: 'Null: no check since its start.' }),
  },
  storage: {
    method: 'GET',
    path: '/api/server/storage',
    operationId: 'readServerStorage',
    summary: 'What fills the disks of a node, at most a minute old',
    data: ServerStorage,
  },
  upkeep: {
    method: 'GET',
    path: '/api/server/upkeep',
    operationId: 'readUpkeep',
    summary: 'The ages of what an operator renews, of a node',
    data: Upkeep,
  },
}

const NodeQuery = Type.Object({
  node: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'The id of a node of `GET /api/nodes`, which is asked over the database. Default: the one that answers.',
    }),
  ),
})

/** What each node says of itself to operators. */
export function reportRoutes(app: FastifyInstance, ctx: Context, reporting: NodeReporting): void {
  for (const [report, { method, path, summary, ...text }] of Object.entries(ROUTES) as [NodeReport, ReportRoute][]) {
    app.route<{ Querystring: Record<string, unknown> }>({
      method,
      url: path,
      ...document('server', summary, { ...text, querystring: NodeQuery }),
      preHandler: operatorsOnly(ctx, 'sluice doctor'),
      handler: async ({ query }, reply) => sendResult(reply, await reporting.read(report, query)),
    })
  }
}
