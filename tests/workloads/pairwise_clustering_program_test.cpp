// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "build_kind.hpp"
#include "driver/block_loop.hpp"
#include "program.hpp"

namespace {

Finished cluster(const std::string& arguments, const std::string& environment = "",
                 const std::string& before = "") {
  return run_program(PAIRWISE_CLUSTERING, arguments, environment, before);
}

Finished cluster_on(int ranks, const std::string& arguments) {
  return cluster(arguments,
                 "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -q -n " +
                     std::to_string(ranks));
}

bool has_mpirun() { return std::system("command -v mpirun >/dev/null") == 0; }

/// A folder of this test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      ("clustering-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST(PairwiseClusteringProgram, EverySystemThreadsAndBlocksGiveTheSameBits) {
  const std::string work = "--points 130 --clusters 5 --temperatures 3 ";
  const Finished one = cluster(work);
  ASSERT_EQ(one.status, 0) << one.output;
  for (const std::string& system : driver::loop_systems())
    for (const std::string threads : {"1", "2", "3"}) {
      if (tsan && (system == "openmp" || system == "tbb")) continue;
      if (system == "serial" && threads != "1") continue;
      const Finished run = cluster(work + "--blocks 4 --threading " + system + " --threads " + threads);
      EXPECT_EQ(field(run.output, "labels"), field(one.output, "labels")) << system << ' ' << threads;
      EXPECT_EQ(field(run.output, "energy"), field(one.output, "energy")) << system << ' ' << threads;
    }
}

TEST(PairwiseClusteringProgram, AnyRanksGiveTheSameLabelsAndAllgatherTheSameBits) {
  if (sanitized) GTEST_SKIP() << "Open MPI leaks by itself";
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  for (const std::string precision : {"float32", "uint16"}) {
    const std::string work = "--points 130 --clusters 5 --precision " + precision + " --exchange ";
    const Finished one = cluster(work + "ring");
    ASSERT_EQ(one.status, 0) << one.output;
    for (const int ranks : {2, 3}) {
      const Finished gathered = cluster_on(ranks, work + "allgather"),
                     ring = cluster_on(ranks, work + "ring");
      EXPECT_EQ(field(gathered.output, "ranks"), std::to_string(ranks));
      EXPECT_EQ(field(gathered.output, "energy"), field(one.output, "energy")) << ranks;
      for (const Finished& run : {gathered, ring}) {
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "labels"), field(one.output, "labels")) << ranks;
        EXPECT_NEAR(std::stod(field(run.output, "energy")) / std::stod(field(one.output, "energy")), 1, 1e-5);
      }
    }
  }
}

TEST(PairwiseClusteringProgram, FixedWorkIsWhatWasAskedFor) {
  const Finished run = cluster("--points 100 --clusters 6 --temperatures 4 --passes 3 --power-steps 7");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "temperatures"), "4");
  EXPECT_EQ(field(run.output, "passes"), "12");
  EXPECT_EQ(field(run.output, "power_steps"), "28");
  EXPECT_EQ(field(run.output, "clusters"), "6");
}

TEST(PairwiseClusteringProgram, MemoryStaysWithinItsBound) {
  if (sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  for (const std::string precision : {"float32", "uint16"}) {
    const Finished run = cluster(
        "--points 8000 --clusters 10 --temperatures 1 --passes 1 --power-steps 1 --precision " + precision);
    EXPECT_EQ(field(run.output, "memory_within_bound"), "true") << run.output;
  }
}

TEST(PairwiseClusteringProgram, WritesLabelsEnergiesAndTheTree) {
  const Folder folder;
  EXPECT_EQ(cluster("--points 60 --planted 3 --clusters 3 --out " + (folder / "new/out")).status, 0);
  const auto lines = [&](const std::string& name) {
    std::ifstream file(folder / ("new/out/" + name));
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  };
  EXPECT_EQ(lines("labels.csv"), 61U);
  EXPECT_EQ(lines("tree.csv"), 3U);
  EXPECT_GT(lines("annealing.csv"), 10U);
}

TEST(PairwiseClusteringProgram, ReadsMatricesAndSequences) {
  const Folder folder;
  const std::string csv = folder.write("d.csv", "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n");
  const Finished matrix = cluster("--input " + csv + " --clusters 2");
  EXPECT_EQ(matrix.status, 0) << matrix.output;
  const std::string marked = folder.write("m.csv",
                                          "\xef\xbb\xbf"
                                          "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n");
  EXPECT_EQ(field(cluster("--input " + marked + " --clusters 2").output, "labels"),
            field(matrix.output, "labels"));
  const std::string fasta =
      folder.write("s.fasta", ">a\nACGTACGT\n>b\nacgtaCGA\n>c x\nTTTTGGGG\n>d\nTTTT\nGGGC\n");
  const std::string cached = "--input " + fasta + " --clusters 2 --cache " + (folder / "kept.npy");
  const Finished compared = cluster(cached), kept = cluster(cached);
  EXPECT_EQ(compared.status, 0) << compared.output;
  EXPECT_EQ(field(kept.output, "labels"), field(compared.output, "labels"));
  EXPECT_EQ(field(kept.output, "energy"), field(compared.output, "energy"));
  const Finished as_matrix = cluster("--clusters 2 --input " + (folder / "kept.npy"));
  EXPECT_NEAR(std::stod(field(as_matrix.output, "energy")) / std::stod(field(compared.output, "energy")), 1,
              1e-12)
      << "of a matrix the largest distance is known, of sequences its bound: terms are rounded otherwise";
}

TEST(PairwiseClusteringProgram, BadInputIsOneLineAndStatusTwo) {
  const Folder folder;
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    const Finished run = cluster(arguments);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_EQ(run.output, message + "\n");
  };
  const auto file = [&](const std::string& name, const std::string& text) {
    return folder.write(name, text);
  };
  std::string path = file("a.csv", "0,1,2\n1,0,3\n2,4,0\n");
  refused("--input " + path,
          path + ": row 3, column 2 differs from row 2, column 3; give a symmetric matrix");
  path = file("b.csv", "0,-1\n-1,0\n");
  refused("--input " + path, path + ": row 1, column 2 is negative; give distances of at least 0");
  path = file("c.csv", "0,nan\nnan,0\n");
  refused("--input " + path, path + ": row 1, column 2 is not a finite number; give every distance");
  path = file("d.csv", "0,1\n1\n");
  refused("--input " + path, path + ": row 2 has 1 values, not 2; give a square matrix");
  path = file("e.csv", "");
  refused("--input " + path, path + ": has no rows; give at least one point");
  path = file("f.csv", "0,x\nx,0\n");
  refused("--input " + path,
          path + ": row 1, column 2 'x' is not a number; give numbers separated by commas");
  path = file("g.csv", "0,1\n");
  refused("--input " + path, path + ": has 1 rows of 2; give a square matrix");
  path = file("h.csv", "0,1\n1,2\n");
  refused("--input " + path,
          path + ": row 2, column 2 is not 0; give the distance of a point to itself as 0");
  path = file("i.npy", "no");
  refused("--input " + path, path + ": is no .npy file; write it with numpy.save");
  path = file("j.csv", "0,0\n0,0\n");
  refused("--input " + path, path + ": has no two points apart; give others");
  path = file("o.csv", "0,1\n1,0\n5\n");
  refused("--input " + path, path + ": has more than 2 rows of 2 values; give a square matrix");
  path = file("p.csv", "0,0x10\n0x10,0\n");
  refused("--input " + path,
          path + ": row 1, column 2 '0x10' is not a number; give numbers separated by commas");
  path = file("q.csv", "0,1e308\n1e308,0\n");
  refused("--input " + path, path + ": row 1, column 2 is more than float32 holds; scale the distances");
  path = file("r.fasta", "\x1f\x8b");
  refused("--input " + path, path + ": is compressed; unpack it first: gunzip");
  refused("--input " + (folder / ""), (folder / "") + ": cannot be read; give the path of a FASTA file");
  path = file("k.fasta", ">a\nACGT\n>b\n");
  refused("--input " + path, path + ", line 3: this sequence is empty; give its bases");
  path = file("l.fasta", ">a\nAC!T\n");
  refused("--input " + path, path + ", line 2: the letter '!' is not a nucleotide; give ACGTUNRYSWKMBDHV");
  path = file("m.fasta", "ACGT\n");
  refused("--input " + path, path + ", line 1: a sequence has no '>' line before it; give FASTA");
  path = file("n.fasta", "");
  refused("--input " + path, path + ": has no sequences; give at least one");
  refused("--input nowhere.npy", "nowhere.npy: cannot be read; give the path of a .npy or .csv file");
  refused("--points 3 --clusters 4",
          "clusters: 4 of 3 points; give more points, at least 2, or fewer clusters");
  refused("--points 0",
          "pairwise_clustering: --points '0' cannot be used; give a whole number from 1 to 1000000");
  refused("--points 20 --cache x.npy", "cache: is for distances of sequences; leave --cache out");
}

TEST(PairwiseClusteringProgram, ANumpyArrayThatIsNoMatrixIsRefused) {
  const Folder folder;
  const auto npy = [&](const std::string& shape, std::size_t floats) {
    std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    text.resize(117, ' ');
    const std::string head = std::string("\x93NUMPY\x01", 7) + '\0' + '\x76' + '\0' + text + '\n';
    return folder.write("a.npy", head + std::string(4 * floats, '\0'));
  };
  for (const auto& [shape, floats, says] :
       std::initializer_list<std::tuple<std::string, std::size_t, std::string>>{
           {"(3, 3, 1)", 9, "is not a square matrix"},
           {"(3, 3, 2)", 18, "is not a square matrix"},
           {"(2, 3)", 6, "is not a square matrix"}}) {
    const Finished run = cluster("--input " + npy(shape, floats));
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.output.find(says), std::string::npos) << run.output;
  }
}

TEST(PairwiseClusteringProgram, RanksOfAnotherMpiDoNotEachTakeThemselvesForAll) {
  if (sanitized) GTEST_SKIP() << "Open MPI leaks by itself";
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  const Finished run = run_program(PAIRWISE_CLUSTERING, "--points 20",
                                   "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PMI_SIZE=2");
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.output.find("another MPI's launcher started 2, and each is alone"), std::string::npos)
      << run.output;
}

TEST(PairwiseClusteringProgram, FewerClustersThanAskedForIsAFailureThatSaysSo) {
  const Folder folder;
  const std::string pairs = folder.write("d.csv", "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n");
  EXPECT_EQ(field(cluster("--input " + pairs + " --clusters 2").output, "clusters"), "2");
  const std::string alike = folder.write("e.csv", "0,0,0,9\n0,0,0,9\n0,0,0,9\n9,9,9,0\n");
  const Finished few = cluster("--input " + alike + " --clusters 4");
  EXPECT_EQ(few.status, 1);
  EXPECT_NE(few.output.find("clusters: points fell into 2 of 4; ask for fewer"), std::string::npos)
      << few.output;
  EXPECT_EQ(field(few.output, "has_all_clusters"), "false");
}

TEST(PairwiseClusteringProgram, ACacheOfOtherSequencesOrDamagedIsRefused) {
  const Folder folder;
  const std::string first = folder.write("a.fasta", ">a\nACGT\n>b\nAGGT\n"),
                    other = folder.write("b.fasta", ">a\nACGT\n>b\nAGGA\n"), kept = folder / "kept.npy";
  const std::string cache = " --clusters 2 --cache " + kept;
  EXPECT_EQ(cluster("--input " + first + cache).status, 0);
  const Finished wrong = cluster("--input " + other + cache);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.output,
            kept + ": holds distances of other sequences; remove it, or give another --cache\n");
  std::fstream(kept, std::ios::binary | std::ios::in | std::ios::out).seekp(132).put('x');
  const Finished damaged = cluster("--input " + first + cache);
  EXPECT_EQ(damaged.status, 2);
  EXPECT_EQ(damaged.output, kept + ": is damaged in row 1; remove it, or give another --cache\n");
  for (const std::uintmax_t bytes : {140U, 10U, 0U}) {
    std::filesystem::resize_file(kept, bytes);
    EXPECT_EQ(cluster("--input " + first + cache).output,
              kept + ": was cut short; remove it, or give another --cache\n")
        << bytes;
  }
}

TEST(PairwiseClusteringProgram, AMatrixLargerThanMemoryIsSaidBeforeItIsMade) {
  const Finished run = cluster("--points 1000000");
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(run.output.starts_with("memory: 1000000 points need 4.6e+03 GB, and ")) << run.output;
  EXPECT_TRUE(run.output.ends_with(" are free; give --precision uint16 or fewer points\n")) << run.output;
}

TEST(PairwiseClusteringProgram, WhatOneRankFindsEveryRankLeavesWithOneLine) {
  if (sanitized) GTEST_SKIP() << "Open MPI leaks by itself";
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  const Folder folder;
  const std::string path = folder.write("a.csv", "0,1,2\n1,0,3\n2,-4,0\n");
  const Finished run = cluster_on(3, "--input " + path);
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.output, path + ": row 3, column 2 is negative; give distances of at least 0\n");
}

}  // namespace
