/** How long properties search, and from where: the environment overrules it for campaigns and to play a failure again. */
import type { Parameters } from 'fast-check';

const given = (name: string): string | undefined => process.env[name];

/** `usual`: as many histories as an ordinary run of the tests has time for. */
export function campaign(usual: number): Pick<Parameters, 'numRuns' | 'seed' | 'path'> {
  const runs = given('PROPERTY_RUNS');
  const seed = given('PROPERTY_SEED');
  const path = given('PROPERTY_PATH');
  return {
    numRuns: runs === undefined ? usual : Number(runs),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  };
}

/** Milliseconds in which a campaign ends on a slow machine, for Jest. */
export const patience = (usual: number): number => Math.max(60_000, (campaign(usual).numRuns ?? usual) * 60);
