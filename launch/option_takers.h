// SPDX-License-Identifier: Apache-2.0
//
// What the options that take more than a line to understand do; the rows of option_table.cc name
// these functions.
#pragma once

#include "option_table.h"

namespace weft::launch {

// option_cpus.cc: where ranks run, in the words of MPICH and Open MPI.
void take_bind(Section& section, const Given& given);
void take_map(Section& section, const Given& given);
void take_rank_order(Section& section, const Given& given);
/// Open MPI's --use-hwthread-cpus.
void take_hardware_threads(Section& section);
/// Slurm's --cpus-per-task.
void take_width(Section& section, const Given& given);

// option_variables.cc: variables that ranks get, set ones and mpiexec's own.
void take_export(Section& section, const Given& given);
void take_variable(Section& section, const Given& given);
void take_global_variable(Section& section, const Given& given);
void take_list_of_variables(Section& section, const Given& given);
void take_global_list_of_variables(Section& section, const Given& given);

// option_streams.cc: where ranks' output goes, and who reads mpiexec's input.
void take_out_files(Section& section, const Given& given);
void take_err_files(Section& section, const Given& given);
void take_file_names(Section& section, const Given& given);
void take_reader(Section& section, const Given& given);
/// Open MPI's --display and --output, whose values are lists of other options.
void take_display(Section& section, const Given& given);
void take_output(Section& section, const Given& given);

// option_hosts.cc: where the job runs.
void take_hosts(Section& section, const Given& given);
void take_host_file(Section& section, const Given& given);
void take_launch_agent(Section& section, const Given& given);

}  // namespace weft::launch
