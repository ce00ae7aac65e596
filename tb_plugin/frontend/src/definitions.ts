// What each number means, with its unit: the text of the tooltips. One sentence or two each.

export const DEFINITIONS = {
  band: "Each step over all workers that measured it: the mean as a line, from the fastest to the slowest as a band. Complete steps only.",
  rankMap:
    "Each row is a worker, each column a step or a stretch of steps; the colour is the mean over the worker's complete steps in it.",
  imbalance:
    "In each step that two or more workers measured: the slowest worker's time beyond the mean of all, divided by the slowest worker's time; summed over the steps. Compared by the step without exposed communication where it was measured, since who comes late makes the others wait, and so all steps equally long.",
  rankDelta: "The worker's mean time a step, less the median of the means of all workers.",
  rankExcess:
    "The class of activity or the phase in which the worker's mean time a step is furthest beyond that of the median worker; exposed communication, in which it waits for others, does not count.",
  rankSlowest: "Steps in which this worker took the most time of all that measured them.",
  collectiveWait:
    "Mean time a step that the worker spent in collectives beyond the time of the last worker to come, for whom all wait. A lower bound where ranks are missing.",
  waitedFor: "Collectives in which this worker came last, so that the others waited for it.",
  stepP50:
    "Median duration of the complete steps; p95 and p99: 19 of 20 and 99 of 100 were not slower. A step is extended over the device work launched in it.",
  stepP95: "95th percentile of the step durations: 19 of 20 steps were not slower.",
  throughput:
    "Samples of one batch, times the micro batches of the complete steps, divided by the time of these steps. Of this worker alone.",
  stepCount: "Number of training steps seen, captured in depth or not.",
  gpuBusy:
    "Union of kernel time inside the steps, divided by the union of the steps, for each GPU. Kernels include communication.",
  inputWait: "Time the training thread waited for its next batch, divided by the host time of the same steps.",
  gpuWindow:
    "Union of kernel time inside the steps, divided by the time from the first step's start to the last one's end: gaps between steps count as idle.",
  smEfficiency:
    "Estimated share of the multiprocessors at work: at each moment the blocks per multiprocessor of all running kernels, at most 1; the mean over the steps, idle time as 0. Low while busy is high: the kernels are too small for this GPU.",
  occupancy:
    "Estimated achieved occupancy of the kernels that start in the steps, as their records tell it, weighted by duration. A 0 for a kernel with a warp or more on each multiprocessor tells none.",
  tensorCores:
    "Kernels whose name tells of Tensor or Matrix Cores, divided by all kernels, by duration. A lower bound: generated kernels (Triton) have names that tell nothing.",
  deviceUnits:
    "What each unit of the device achieved, against the most that it can do: the maker's figures for this model. Rates are those while the unit worked, over the whole capture.",
  unitAchieved: "How much the unit did. The tooltip of the value tells of what.",
  unitPeak:
    "The most that it can do: all of the time, all multiprocessors or warps, or the rate on the maker's data sheet.",
  unitUse: "Achieved divided by peak. Above 100 % where caches serve what an operation is counted to read.",
  unitBusy: "Share of the time of the steps in which the unit worked.",
  hardwareCounters:
    "Counters that the profiler read from the hardware. Of a range profiler, which runs each kernel several times, one value a kernel; of a sampler one a sample.",
  idle: "Time without any work on the device, between the first and the last work of the capture.",
  hostWait:
    "Gaps that ended with work whose launch call began after the gap did: the host was late. Fewer and larger kernels, CUDA graphs or compilation help; so does less Python, less synchronisation and a faster input.",
  kernelWait: "Other gaps below 30 µs: the usual delay between two kernels of a queue. Fusing small kernels helps.",
  otherWait: "All other gaps: waiting for another stream or device.",
  unlaunched:
    "Gaps of 30 µs or more that ended with work whose launch call is not in the trace: what they waited for is not known.",
  precision:
    "Time of compute kernels by the precision of their arithmetic, as the types in the kernel's name tell, else the input types of its operator. The parts sum to all time of compute kernels.",
  exposed:
    "Collectives ran and no compute kernel did, because work waited for them (stall) or because the host launched nothing else.",
  overlapped: "Collectives ran while a compute kernel did.",
  exposedShare:
    "Time in which collectives ran and no compute kernel did, divided by the time of the steps captured in depth.",
  slack:
    "From the begin of a collective until what waits for it could have begun without it: the next work of its own stream, the first work of another stream behind a wait for it, or a host that waits for the device. Sum over the runs.",
  stall:
    "Time in which something waited for a collective: what its runs took beyond their slack. Time without a compute kernel (exposed) may as well be that of a host that launches too slowly.",
  neededBandwidth:
    "The bandwidth that would hide it: message / slack of the runs that took longer than their slack, of all where none did. Of the bus where the size of the group is known.",
  collectiveTime: "Sum of the durations of all runs, the wait for the last rank to come included.",
  messageBytes: "Sum of the messages that are known: what one rank gives, for all_gather what it gets.",
  bandwidth:
    "Bus bandwidth where the size of the group is known, else algorithm bandwidth. Durations hold the wait for other ranks, so it is a lower bound. 1 GB/s is 1e9 bytes/s.",
  sync: "Calls with which the host waits for a device or a stream, or asks for its state. While the host waits it launches nothing.",
  syncOperator: "The innermost operator around the call. aten::_local_scalar_dense is .item() or a print of a tensor.",
  tfData:
    "The stages of the pipeline in the deep windows, from the training down to the source. Stages below a prefetch run ahead in other threads, beside the training.",
  tfDataStage: "Kind of the stage; it takes its elements from the stage below it.",
  tfDataTotal: "Sum of the times that callers waited for the stage, over all threads, its inputs included.",
  tfDataSelf: "The same without the calls of its input in the same thread.",
  tfDataCalls: "Elements that were asked of the stage.",
  tfDataParallel: "Calls of the stage's function that may run at once; auto where TensorFlow chooses.",
  tfDataEmpty: "Share of the calls that found no element ready in the stage's buffer, and had to wait.",
  tfDataNoBuffer: "The stage has no buffer, or TensorFlow did not count what is in it.",
  requests:
    "Regions called request, calls of a model server, or what was put into the queue of a batch: the first of these that the recording has.",
  requestsPerSecond:
    "Requests divided by the time from the start of the first one to the end of the last one, gaps between deep windows left out.",
  inFlight: "Requests under way at once, on average: the sum of their latencies divided by the same time.",
  requestsLate:
    "Requests that ended before device work which they launched: wait for its result inside of the region, else the latency lacks it.",
  latency: "From the start of a request to its end.",
  latencyMean: "Mean over the requests in deep windows. The parts add up to the mean latency.",
  latencyShare: "Of the latency of the requests in deep windows.",
  latencySlowest: "Mean over the slowest tenth of the requests in deep windows, at least one.",
  latencyParts: {
    host_before: "On the host, before anything else of the request began.",
    batch_wait: "In the queue, until its batch began. Shorter timeouts or more load make it less.",
    batch: "Its batch was at work on the host, and no device was for it.",
    to_device: "Copies from host to device, of the request or its batch, without kernels beside them.",
    device: "Kernels, fills and copies on a device, of the request or of its whole batch.",
    from_device: "Copies from device to host, without kernels beside them.",
    host: "On the host between the other parts, or all of a request without any.",
    host_after: "On the host, after everything else of the request had ended.",
  },
  batches: "What a model server made of requests that waited in one queue, in deep windows.",
  batchTasks: "Requests in a batch, or parts of those that were split; of the batches of which any is known.",
  batchItems: "Items (first dimension of the input) in a batch, without padding and with it.",
  batchPadding: "Items that were added to reach an allowed size, of all items of the batches.",
  batchDevice: "Time in which kernels ran that a batch launched, mean over the batches.",
  batchWait: "From when a task was put into the queue until its batch began.",
  batchDuration: "Duration of a batch on the host.",
  memory: "What the allocator of the framework handed out, as the capture recorded it.",
  memoryPeak: "The most that was allocated at any moment of the capture.",
  memoryReserved: "The most that the allocator had taken from the device. Far above the peak: fragmentation.",
  memoryStart: "Allocated before the first record of the capture: usually parameters, optimizer state and buffers.",
  memoryChange: "Allocated at the end, less what was allocated at the start. Growth from step to step may be a leak.",
  captured:
    "The always-on stream has steps, phases and annotations of the whole run; a deep window has every operator, call and kernel of a few steps.",
  clockAnchor: "When the monotonic clock and the wall clock were read together; all times are counted from there.",
  clockError: "Between the two readings that enclose the third: the pair is exact to this.",
  clockJumps: "A step of the wall clock by more than 1 ms, which moves what comes after it.",
  alive:
    "Allocations made in the deep window and not freed yet at this moment, and what was allocated before the window began. They add up to the curve.",
  aliveEarlier:
    "Allocated in all, less the allocations that are listed: made before the window began, or their records are lost.",
  afterSteps:
    "Allocated at the end of each whole step of the deep windows. A leak grows from step to step; so does a cache that fills, and the optimizer's state in its first step.",
  allocations: "Allocations of all allocators in the deep windows, with the time until they were freed.",
  memoryAtPeak: "What was alive at the moment of the peak, by the operator that allocated it.",
  overhead:
    "Time that the profiler took from the training thread: its hooks in every step, and stalls while a deep window opened, closed or was saved; divided by the time of the steps and the stalls.",
  needsSteps: "It is measured against the steps, and none was captured in depth.",
  moduleDevice: "Device time of the work launched inside the module's calls, inner modules included.",
  moduleDeviceSelf: "The same without that of the modules that it calls.",
  moduleBackward:
    "Device time of the backward nodes whose forward operator ran inside the module, inner modules included.",
  moduleHost: "Time on the host inside the module's calls, without the modules that it calls.",
  sampledModules:
    "The always-on stream looks at two steps in 50. Host time of the forward calls; on a GPU that is what launching takes.",
  trust: "What all notes mean for the numbers, in one sentence.",
  strips: "Steps and phases as the hook recorded them; those narrower than a pixel are drawn as one.",
  resources: {
    CPU: "CPU time used by any process, all cores of the host together, as a share of their capacity; I/O wait is time in which a core was idle while I/O was outstanding (Linux). A sample stands for the time since the one before it; a point is the mean of its samples, the band reaches from the least to the largest.",
    "Process CPU":
      "Cores that the training process and its children kept busy: 1 is one core. Dashed: what the container's limit allows.",
    Scheduling:
      "How often the threads of the training process and its children were switched, and moved to another core.",
    "Page faults":
      "Page faults a second of the code of the training process and its children, not of the kernel for it.",
    Instructions:
      "Cycles and instructions a second of the code of the training process and its children, not of the kernel for it. Where the processor counts by turns, scaled to the whole time.",
    "Instructions per cycle": "Instructions divided by cycles: low where the code waits for memory.",
    "CPU misses":
      "Accesses that missed the last cache, branches that were predicted wrongly and instruction fetches that missed the TLB, a second.",
    GPU: "Share of the driver's own sampling period in which at least one kernel ran. GPUs have the numbers of the driver (NVML), which CUDA_VISIBLE_DEVICES does not change.",
    "GPU memory":
      "Memory of the GPU in use by any process, as the driver reports it, which numbers the GPUs. Dashed: what it has.",
    Memory:
      "Host memory in use (total less available), of the training process and its children (resident sets; shared pages count in each), and of the container without file cache. Dashed: what there is, or the container's limit.",
    Network: "Bytes a second of the hardware interfaces of the host, else of all but loopback. RDMA is not in it.",
    Disk: "Bytes a second of the physical disks of the host.",
    "CPU cores": "CPU time used on each core as a share of its capacity; a cell is the mean of the samples in it.",
  },
  cpu: "CPU time used, all cores of the host together, as a share of their capacity.",
  gpuUtil: "Share of the sampling interval in which at least one kernel ran, as the driver reports it.",
  gpuActive: "Share of the time in which the utilisation of the GPU was above 0 %, as the driver reports it.",
  cpuActive: "Share of the time in which the CPU of the host was used at all (above 0 %), by any process.",
  programMemory:
    "What XLA allocates for the program, from its buffer assignment. Parameters, constants, outputs and thread-local memory are there while it runs; temporary buffers live from the instruction that makes them to the last one that reads them, in the order of the schedule.",
  programAlive:
    "Allocations that are there all the time, and the temporary buffers whose values are still read at or after this instruction. A result that is written over an operand takes its memory.",
  hloSelf: "Time of its runs without that of other HLO operations inside them, those of a loop's body for example.",
  hloExecutions:
    "How often it was executed: on each device as often as the kernel of its own that ran there least often.",
  hloGraph:
    "Instructions of one computation: arrows lead from what is read to what reads it. The colour is the share of the time of the whole program's operations; instructions inside a fusion have none of their own.",
  operatorModes:
    "Time of operators on the host, summed over threads, and of device work, by how they ran: called from Python one by one (eager), by TensorFlow's executor inside of a tf.function (graph), or as code that XLA or torch.compile made. A moment of a thread counts once; a wait inside an operator counts as its time.",
  operatorsHost: "Operators on the host, summed over threads, divided by that and the device work.",
  operatorsDevice: "Kernels, collectives, copies and fills on devices, divided by that and the operators on the host.",
  gpuActivity:
    "Durations of kernels, copies and fills on the devices, and of synchronisation: the device's own records, or the host's synchronising calls where the source writes none.",
  activitySync: "Waiting for a device or a stream: device records, or the host's calls where there are none.",
  jobInitialisation: "From the start of the recording to the first step.",
  jobSteps: "In steps; where steps overlap, each moment counts once.",
  jobBetween: "Between the first step and the last one, outside steps: epochs' ends, evaluation, checkpoints.",
  jobFinalisation: "From the end of the last step to the end of the recording.",
  devicePhases:
    "Between CUDA events around forward, backward and optimizer on the current stream. A step reaches from where the GPU reached its first phase to where it reached the first one of the next step; other is what lies between phases. Not verified on a GPU.",
  phases:
    "Where the host time of the steps went, by phase of the training loop. The phases of a step sum to its host duration.",
  activity:
    "Exclusive partition of the steps captured in depth: each class takes what its union covers and no class before it took. The classes sum to the step durations.",
  classes: {
    kernel: "A compute kernel ran on a device.",
    communication: "A communication kernel ran and no compute kernel did.",
    memcpy: "A device copy ran and neither a compute nor a communication kernel did.",
    memset: "A device fill ran and none of the classes before it did.",
    runtime: "The host was in a device runtime call while the device did nothing.",
    dataloader: "The host fetched or produced a batch and none of the classes before it ran.",
    cpu: "The host ran operators and none of the classes before it ran.",
    other: "None of the classes ran: Python between operators, or time that was not captured.",
  },
  phaseNames: {
    input_wait: "Waiting for the next batch.",
    h2d: "Host calls that copy a batch to a device.",
    forward: "The outermost module's forward call, loss included if it is computed inside.",
    backward: "torch.autograd.backward, or the gradient part of the step.",
    optimizer: "The optimizer's step.",
    compute: "Forward, backward and optimizer in one call, where the framework runs them so.",
    validation: "Evaluation between training steps.",
    other: "The rest of the step: logging, metrics, Python in the loop.",
  },
  mean: "Total divided by the number of runs.",
  count: "Number of runs in the capture.",
  hostSelf: "Time on the host inside this operator and outside the operators it calls.",
  hostTotal: "Time on the host inside this operator, with the operators it calls.",
  deviceSelf: "Device time of the work that this operator launched itself.",
  deviceTotal: "Device time of the work launched by this operator and the operators it calls.",
  memcpyTime: "Sum of the durations of the copies in this direction.",
  memcpyBytes: "Bytes moved, where the trace tells them.",
  memcpyRate: "Bytes divided by time, in decimal units per second.",
  roofline:
    "Each HLO operation by its operational intensity (FLOPs divided by bytes accessed) and by its FLOP/s, both from the shapes in the compiled program and the measured self time; its area by its share of the time. The roof is what the device can do at most: its memory bandwidth times the intensity, up to the peak rate of the precision.",
  operatorRoofline:
    "Each matrix product and convolution by its operational intensity (FLOPs divided by bytes of operands and results) and by its FLOP/s, both from the recorded shapes and the device time of its calls; its area by its share of that time. The roof is what the device can do at most: its memory bandwidth times the intensity, up to the peak rate of the precision.",
  launches: "Calls that put work on a device queue.",
  launchLinked: "Launches whose device run was found.",
  launchLatency: "From the end of the launch call to the start of its device run; floored at 0.",
  launchQueue:
    "The part of the latency in which earlier work of the same stream still ran: the GPU is busy, the host is ahead. No reason to worry.",
  launchOverhead: "The rest of the latency: the stream was free, or waited for an event of another one.",
  launchShort:
    "Launches of kernels that ran shorter than the launch call took: here the host is slower than the GPU. Fusing them, larger batches or CUDA graphs help.",
  launchNegative:
    "Pairs whose device run seems to start before the launch ended: the clocks of host and device differ.",
  usualStep:
    "Median over the complete steps that were divided the same way, at most the 200 nearest ones; a name that does not occur counts as 0.",
  deviceDifference:
    "Kernels, collectives, copies and fills launched in the step (where the launch is not in the trace: begun in it), by name: the sum of their durations beside the usual sum. The differences of all names add up to the one shown here.",
  hostDifference:
    "Operators and runtime calls that begin in the step, all threads, by name: the sum of their self times (without the ones inside) beside the usual sum. The differences add up to the one shown here.",
  flame:
    "Modules of the model by who calls whom. A box is as wide as the time of the module, inner modules included; what its inner modules leave is its own. Time of the forward and the backward pass.",
  stepHost: "Duration of the step's marker on the host.",
  stepDuration: "Host duration, extended to the end of the last device work launched inside the step.",
} as const;

/** Why a value can be absent; shown where a dash stands. */
export const NOT_MEASURED = "Not measured in this capture";
